"""The class report: what the instructor gets about all submissions, as one self-contained HTML file."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

import numpy as np

from autograder.itemanalysis import FEWEST, Bin, Item, histogram, item_analysis
from autograder.pages import LOOKS, render
from autograder.results import Report, StageResult, TestResult

MOST_NAMES = 50  # listed where one thing concerns many students; the table of students has them all
MOST_TICKS = 6


@dataclass(frozen=True)
class Row:
    """A stage, or a test of it, in the tables about the class."""

    title: str
    name: str  # of a test; "" for a stage
    max_points: float
    item: Item
    statuses: Mapping[str, int]


@dataclass
class Note:
    """Something that concerns some students: a known mistake, notes for review, or a failure of the grader."""

    title: str
    lines: tuple[str, ...]
    students: list[str] = field(default_factory=list)
    tests: int = 0


def class_html(
    reports: Sequence[Report], feedback: Mapping[str, str] | None = None, ungraded: Mapping[str, str] | None = None
) -> str:
    """The report about all submissions of one assignment, for the instructor. Write it as UTF-8.

    Args:
        reports: one a submission, in the order in which the students are to be listed; `Report.submission` is the name
            that is shown. May be empty.
        feedback: file names of the feedback pages in the folder `feedback` beside this report, by `Report.submission`:
            {"anna": "anna.html"} links to feedback/anna.html. Names that are left out are not linked.
        ungraded: why there is no report, by name, of submissions that could not be read or graded at all.
    """
    # Where the grader failed the points say nothing, so these submissions are left out of the statistics.
    sound = [report for report in reports if not any(test.status == "fault" for test in report.tests)]
    totals = [report.points for report in sound]
    maximum = max((report.max_points for report in reports), default=0.0)
    bins = histogram(totals, maximum)
    stages = _stages(reports)
    return render(
        "class.html",
        title=next((report.title for report in reports), "Class"),
        reports=reports,
        ungraded=ungraded or {},
        links={name: "feedback/" + quote(file, safe="") for name, file in (feedback or {}).items()},
        sound=sound,
        maximum=maximum,
        quartiles=np.percentile(totals, (25, 50, 75)).tolist() if totals else [],
        mean=statistics.fmean(totals) if totals else None,
        bins=bins,
        ticks=_ticks(bins),
        stages=stages,
        rows=_rows(reports, sound, stages),
        fewest=FEWEST,
        statuses=_in_order({test.status for test in _tests(reports)}),
        end_to_end=Counter(report.end_to_end.status for report in reports if report.end_to_end),
        mistakes=_mistakes(reports),
        unnamed=sum(test.status in ("failed", "error") and not test.mistake for test in _tests(reports)),
        review=_review(reports),
        faults=_faults(reports),
        confined=Counter(report.confined for report in reports),
        seeds=Counter(report.hidden_seed for report in reports),
        median_seconds=statistics.median(report.seconds for report in reports) if reports else None,
        slowest=max(reports, key=lambda report: report.seconds, default=None),
        students=[(report, _points(report, stages)) for report in reports],
        most_names=MOST_NAMES,
    )


def _tests(reports: Iterable[Report]) -> Iterable[TestResult]:
    return (test for report in reports for test in report.tests)


def _points(report: Report, stages: Iterable[StageResult]) -> list[float | None]:
    """The points of a submission in each of the stages; None in one that was not graded."""
    reached = {stage.name: stage.points for stage in report.stages}
    return [reached.get(stage.name) for stage in stages]


def _in_order(statuses: set[str]) -> list[str]:
    known = [status for status in LOOKS if status in statuses]
    return known + sorted(statuses.difference(known))


def _ticks(bins: Sequence[Bin]) -> list[float]:
    """The values that label the axis of points: every how-manieth edge of a bin."""
    return [bin.low for bin in bins[:: max(1, math.ceil(len(bins) / MOST_TICKS))]]


def _stages(reports: Iterable[Report]) -> list[StageResult]:
    """The stages of the assignment, each as the first report that has it shows it."""
    found: dict[str, StageResult] = {}
    for report in reports:
        for stage in report.stages:
            found.setdefault(stage.name, stage)
    return sorted(found.values(), key=lambda stage: stage.number)


def _rows(
    reports: Sequence[Report], sound: Sequence[Report], stages: Sequence[StageResult]
) -> list[tuple[Row, list[Row]]]:
    """Each stage with its tests: how hard they were, how well they discriminate, and what became of them."""
    columns = [(stage, test) for stage in stages for test in (None, *stage.tests)]
    place = {(stage.name, test.name if test else ""): number for number, (stage, test) in enumerate(columns)}
    points = np.full((len(sound), len(columns)), np.nan)
    for row, report in enumerate(sound):
        for stage in report.stages:
            points[row, place[stage.name, ""]] = stage.points
            for test in stage.tests:
                if (column := place.get((stage.name, test.name))) is not None:
                    points[row, column] = test.points
    maxima = [test.max_points if test else stage.max_points for stage, test in columns]
    items = item_analysis(points, maxima, np.asarray([report.points for report in sound]))
    statuses: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for test in _tests(reports):
        statuses[test.stage, test.name][test.status] += 1
    rows: list[tuple[Row, list[Row]]] = []
    for (stage, test), item in zip(columns, items, strict=True):
        if test is None:
            rows.append((Row(stage.title, "", stage.max_points, item, {}), []))
        else:
            rows[-1][1].append(Row(test.title, test.name, test.max_points, item, statuses[stage.name, test.name]))
    return rows


def _mistakes(reports: Iterable[Report]) -> list[Note]:
    """The known mistakes, the most frequent first."""
    notes: dict[str, Note] = {}
    for report in reports:
        for test in report.tests:
            if test.mistake:
                note = notes.setdefault(test.mistake, Note(test.mistake, test.hints))
                note.tests += 1
                if note.students[-1:] != [report.submission]:
                    note.students.append(report.submission)
    return sorted(notes.values(), key=lambda note: (-len(note.students), note.title))


def _review(reports: Iterable[Report]) -> list[Note]:
    """The notes for review; students with the same notes stand together, what concerns few comes first."""
    notes: dict[tuple[str, ...], Note] = {}
    for report in reports:
        if report.review:
            notes.setdefault(report.review, Note("", report.review)).students.append(report.submission)
    return sorted(notes.values(), key=lambda note: len(note.students))


def _faults(reports: Iterable[Report]) -> list[Note]:
    """The failures of the grader; those with the same message stand together, with the first traceback."""
    notes: dict[tuple[str, str], Note] = {}
    for report in reports:
        for test in (*report.tests, *((report.end_to_end,) if report.end_to_end else ())):
            if test.status == "fault":
                note = notes.setdefault((test.name, test.message), Note(test.name, (test.message, *test.details)))
                note.students.append(report.submission)
    return list(notes.values())
