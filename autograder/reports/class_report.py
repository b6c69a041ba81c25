"""The class report for the instructor: all submissions in one self-contained HTML file."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

import numpy as np

from autograder.grading.results import PartResult, Report, StageResult, TestResult
from autograder.reports.html_pages import LOOKS, render
from autograder.reports.item_analysis import FEWEST, Bin, Item, histogram, item_analysis

MOST_NAMES = 50  # names listed for one finding; the table of students lists them all
MOST_TICKS = 6


@dataclass(frozen=True)
class Student:
    """The values from one report that are used in the tables."""

    name: str
    points: dict[tuple[str, str], float]  # by stage and test; the test "" is the whole stage
    total: float
    complete: bool
    sound: bool  # False if the grader failed on a test; the points are then meaningless
    notes: tuple[str, ...]  # reasons to look at it: "grader failed", "not confined", "review" and "reviewed"
    seconds: float

    @property
    def kinds(self) -> str:
        """The values by which the table can be filtered."""
        return ",".join([*self.notes, "complete" if self.complete else "not complete"])


@dataclass(frozen=True)
class Row:
    """A stage, or one of its tests, in the tables about the class."""

    title: str
    name: str  # the test's name; "" for a stage
    max_points: float
    item: Item
    statuses: Mapping[str, int]


@dataclass
class Note:
    """A finding about some students: a known mistake, a wrong step, notes for review, or a grader fault."""

    title: str
    lines: tuple[str, ...]
    students: list[str] = field(default_factory=list)
    tests: int = 0


@dataclass
class Summary:
    """The data kept from the reports on a class; each report is read once."""

    title: str = "Class"
    maximum: float = 0.0
    students: list[Student] = field(default_factory=list)
    stages: dict[str, StageResult] = field(default_factory=dict)  # as in the first report with this stage
    statuses: defaultdict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    end_to_end: Counter[str] = field(default_factory=Counter)
    confined: Counter[bool | None] = field(default_factory=Counter)
    seeds: Counter[int | None] = field(default_factory=Counter)
    mistakes: dict[str, Note] = field(default_factory=dict)
    steps: dict[tuple[str, str], Note] = field(default_factory=dict)  # the step missing from a test's first wrong line
    unnamed: int = 0  # failed tests without a known mistake
    review: dict[tuple[str, ...], Note] = field(default_factory=dict)  # students with the same notes, grouped
    faults: dict[tuple[str, str], Note] = field(default_factory=dict)  # students with the same message, grouped
    decided: frozenset[str] = frozenset()  # students with an entry in review.csv

    def add(self, report: Report) -> None:
        """Add a report."""
        name = report.submission
        self.title = report.title
        self.maximum = max(self.maximum, report.max_points)
        for stage in report.stages:
            self.stages.setdefault(stage.name, stage)
        for test in report.tests:
            self.statuses[test.stage, test.name][test.status] += 1
            for part in test.parts:
                self.statuses[test.stage, part_name(test, part)][part.status] += 1
            if test.mistake:
                mistake = self.mistakes.setdefault(test.mistake, Note(test.mistake, test.hints))
                mistake.tests += 1
                if mistake.students[-1:] != [name]:
                    mistake.students.append(name)
            elif test.status in ("failed", "error"):
                self.unnamed += 1
            if test.fault_step:
                step = self.steps.setdefault((test.stage, test.fault_step), Note(test.fault_step, (test.stage,)))
                step.tests += 1
                if step.students[-1:] != [name]:
                    step.students.append(name)
        if report.end_to_end:
            self.end_to_end[report.end_to_end.status] += 1
        for test in (*report.tests, *((report.end_to_end,) if report.end_to_end else ())):
            if test.status == "fault":
                fault = Note(test.name, (test.message, *test.details))
                self.faults.setdefault((test.name, test.message), fault).students.append(name)
        self.confined[report.confined] += 1
        self.seeds[report.hidden_seed] += 1
        if report.review:
            self.review.setdefault(report.review, Note("", report.review)).students.append(name)
        self.students.append(_student(report, name in self.decided))


def part_name(test: TestResult, part: PartResult) -> str:
    """The name under which the tables list a part of a test."""
    return f"{test.name}: {part.name}"


def _student(report: Report, decided: bool) -> Student:
    notes = {
        "grader failed": report.faulty,
        "not confined": report.confined is False,
        "review": bool(report.review) and not decided,
        "reviewed": decided,
    }
    return Student(
        name=report.submission,
        points={(stage.name, ""): stage.points for stage in report.stages}
        | {(test.stage, test.name): test.points for test in report.tests}
        | {(test.stage, part_name(test, part)): part.points for test in report.tests for part in test.parts},
        total=report.points,
        complete=report.complete,
        sound=not any(test.status == "fault" for test in report.tests),
        notes=tuple(note for note, applies in notes.items() if applies),
        seconds=report.seconds,
    )


def class_html(
    reports: Iterable[Report],
    feedback: Mapping[str, str] | None = None,
    ungraded: Mapping[str, str] | None = None,
    staff: bool = False,
    decided: Iterable[str] = (),
    left_out: str = "",
    questions: str = "",
) -> str:
    """The report on all submissions of one assignment, for the instructor. Save the page as UTF-8.

    Args:
        reports: one per submission, in the order in which the students are listed; `Report.submission` is the name
            shown. The reports are read once and not kept. There may be none.
        feedback: file names of the feedback pages in the folder `feedback` next to this report, by `Report.submission`:
            {"anna": "anna.html"} links to feedback/anna.html. Students without an entry get no link.
        ungraded: why a submission could not be read or graded at all, by name; it then has no report.
        staff: whether the staff's pages and the review page are next to this report.
        decided: students with an entry in review.csv.
        left_out: a sentence about the files that are not graded.
        questions: the page with questions on the students' own code next to this report, if there is one.
    """
    summary = Summary(decided=frozenset(decided))
    for report in reports:
        summary.add(report)
    # If the grader failed, the points mean nothing, so these submissions are left out of the statistics.
    sound = [student for student in summary.students if student.sound]
    totals = [student.total for student in sound]
    bins = histogram(totals, summary.maximum)
    stages = sorted(summary.stages.values(), key=lambda stage: stage.number)
    return render(
        "class.html",
        script="class.js",
        summary=summary,
        ungraded=ungraded or {},
        left_out=left_out,
        questions=questions,
        staff={name: "staff/" + quote(file, safe="") for name, file in (feedback or {}).items() if staff},
        links={name: "feedback/" + quote(file, safe="") for name, file in (feedback or {}).items()},
        sound=sound,
        quartiles=np.percentile(totals, (25, 50, 75)).tolist() if totals else [],
        mean=statistics.fmean(totals) if totals else None,
        bins=bins,
        ticks=_ticks(bins),
        stages=stages,
        rows=_rows(summary, sound, stages),
        fewest=FEWEST,
        statuses=_in_order({status for counts in summary.statuses.values() for status in counts}),
        mistakes=sorted(summary.mistakes.values(), key=lambda note: (-len(note.students), note.title)),
        steps=sorted(summary.steps.values(), key=lambda note: (-len(note.students), note.lines, note.title)),
        # Rare notes come first: a note on every student only shows how the class submits its work.
        review=sorted(summary.review.values(), key=lambda note: len(note.students)),
        median_seconds=statistics.median(student.seconds for student in summary.students) if summary.students else None,
        slowest=max(summary.students, key=lambda student: student.seconds, default=None),
        most_names=MOST_NAMES,
    )


def _in_order(statuses: set[str]) -> list[str]:
    known = [status for status in LOOKS if status in statuses]
    return known + sorted(statuses.difference(known))


def _ticks(bins: Sequence[Bin]) -> list[float]:
    """The tick labels of the points axis: every n-th bin edge."""
    return [bin.low for bin in bins[:: max(1, math.ceil(len(bins) / MOST_TICKS))]]


def _rows(
    summary: Summary, sound: Sequence[Student], stages: Sequence[StageResult]
) -> list[tuple[StageResult, Row, list[Row]]]:
    """Each stage with its tests: difficulty, discrimination, and counts of outcomes."""
    whole = [Column(stage, "", stage.title, stage.max_points) for stage in stages]
    columns = [column for stage, first in zip(stages, whole, strict=True) for column in (first, *_columns(stage))]
    keys = [(column.stage.name, column.name) for column in columns]
    points = np.array([[student.points.get(key, np.nan) for key in keys] for student in sound])
    totals = np.array([student.total for student in sound])
    maxima = [column.max_points for column in columns]
    items = item_analysis(points.reshape(len(sound), len(keys)), maxima, totals)
    rows: list[tuple[StageResult, Row, list[Row]]] = []
    for column, key, item in zip(columns, keys, items, strict=True):
        row = Row(column.title, column.name, column.max_points, item, summary.statuses[key] if column.name else {})
        if column.name:
            rows[-1][2].append(row)
        else:
            rows.append((column.stage, row, []))
    return rows


@dataclass(frozen=True)
class Column:
    """A stage, a test, or a part of a test, for which each student has points."""

    stage: StageResult
    name: str
    title: str
    max_points: float


def _columns(stage: StageResult) -> Iterator[Column]:
    """The tests of a stage, each followed by its parts."""
    for test in stage.tests:
        yield Column(stage, test.name, test.title, test.max_points)
        for part in test.parts:
            yield Column(stage, part_name(test, part), f"Part: {part.name}", part.max_points)
