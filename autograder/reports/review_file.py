"""review.csv: the staff's decisions that overrule the grader.

Regrading keeps these decisions. They affect grades, feedback and exports.

Columns: student, test, points, reason, who, when, item. `test` is written as in grades.csv: "stage.test",
"stage.test.part" (the stage may be left out), or a stage. A row with points sets the points of a test or part. A row
with an item from rubric.csv adds the item's points to a stage, test or part. A row without points or an item is a
comment; if `test` is empty, the comment is about the whole submission. Students see the reason. A row without points,
item or reason means that somebody has looked at the submission; students do not see such a row. Answers to regrade
requests are comments, too.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from autograder.grading.results import Report, StageResult, TestResult
from autograder.manifest.table import exact
from autograder.reports.csv_sheet import Sheet
from autograder.reports.regrade_requests import Request, read_requests
from autograder.reports.rubric import Item, read_rubric, signed
from course.errors import UserError

NAME = "review.csv"
REQUIRED = ("student", "test", "points", "reason", "who", "when")
COLUMNS = (*REQUIRED, "item")
GRADED = re.compile(r"(?:[^.]+\.)?(?P<test>test\w*)(?:\.(?P<part>.+))?")  # like a column name in grades.csv
MOST_ERRORS = 20
NOTHING = Fraction(0)


@dataclass(frozen=True)
class Decision:
    """A row of review.csv."""

    student: str
    test: str  # or a stage; "" for a comment on the whole submission
    points: Decimal | None  # that the row sets; None for a comment or an item
    reason: str
    who: str
    when: str
    part: str = ""  # of the test; "" for all of it
    row: int = 0  # in the file
    item: str = ""  # of the rubric
    change: Decimal = Decimal(0)  # the points of the item

    @property
    def by(self) -> str:
        """The author and time of the decision, in words."""
        return ", ".join(filter(None, (self.who, self.when)))

    @property
    def graded(self) -> str:
        """The name of the test and part, or of the stage, that the decision is about."""
        return f"{self.test}.{self.part}" if self.part else self.test

    @property
    def comment(self) -> str:
        """The reason as shown to the student: the item's points come first, the author last."""
        worth = f"{signed(self.change)}: " if self.change else ""
        return f"{worth}{self.reason} ({self.by})" if self.by else worth + self.reason


def read_review(folder: Path) -> dict[str, list[Decision]]:
    """The decisions on a class by student, in order; empty if there is no review.csv.

    Raises:
        UserError: if a file is not a CSV file, or rows are wrong: points without a test, points that are not a number
            of at least 0, points without a reason, or two rows with points for one test. All errors are listed at once.
    """
    found, wrong = parse_review(folder)
    refuse(folder / NAME, wrong)
    return found


def parse_review(folder: Path) -> tuple[dict[str, list[Decision]], list[str]]:
    """The decisions on a class by student, and a message for each error in the rows.

    Raises:
        UserError: if a file cannot be read at all.
    """
    path = folder / NAME
    rubric, requests = read_rubric(folder), read_requests(folder)
    return parse_sheet(Sheet.read(path) if path.exists() else None, rubric, requests)


def parse_sheet(
    sheet: Sheet | None, rubric: Mapping[str, Item], requests: Iterable[Request]
) -> tuple[dict[str, list[Decision]], list[str]]:
    """The decisions in a file and the errors in its rows; `sheet` is None if there is no file.

    Raises:
        UserError: if it lacks columns.
    """
    found: dict[str, list[Decision]] = defaultdict(list)
    wrong: list[str] = []
    for row, cells in sheet.records(REQUIRED, COLUMNS) if sheet else ():
        decision, problems = _decision(cells, row, rubric)
        wrong += problems or _conflicts(decision, found[decision.student])
        found[decision.student].append(decision)
    for request in requests:
        if request.answer:
            found[request.student].append(
                Decision(request.student, "", None, request.told(), request.who, request.when, row=request.row)
            )
    return dict(found), wrong


def refuse(file: Path | str, wrong: Sequence[str]) -> None:
    """Raise an error that lists all mistakes in a file.

    Raises:
        UserError: if something is wrong.
    """
    if wrong:
        more = [f"and {len(wrong) - MOST_ERRORS} more"] if len(wrong) > MOST_ERRORS else []
        raise UserError("\n  ".join([f"{file} has mistakes:", *wrong[:MOST_ERRORS], *more]))


def _decision(cells: Mapping[str, str], row: int, rubric: Mapping[str, Item]) -> tuple[Decision, list[str]]:
    """The decision in a row, and the errors in the row."""
    wrong = []
    # grades.csv has an apostrophe before a name that a spreadsheet would mistake for a formula.
    student = cells["student"].removeprefix("'")
    if not student:
        wrong.append(f"row {row} names no student")
    points = None
    if text := cells["points"].replace(",", "."):
        try:
            points = exact(text)
        except ValueError:
            points = Decimal(-1)
        if not points.is_finite() or points < 0:
            wrong.append(f"row {row}: points must be a number of at least 0, such as 2.5, not {cells['points']!r}")
        if not cells["test"]:
            wrong.append(f"row {row} has points but names no test: points are set for one test at a time")
        if not cells["reason"]:
            wrong.append(f"row {row} changes points without a reason: write one for the student")
    reason, change, place = cells["reason"], Decimal(0), cells["test"]
    if name := cells["item"]:
        item = rubric.get(name)
        if item is None:
            there = ", ".join(rubric) or "none"
            wrong.append(f"row {row}: there is no item {name!r} in rubric.csv; the items are: {there}")
            item = Item(name)
        place = place or item.on
        reason, change = ". ".join(filter(None, (item.comment.rstrip("."), reason))), item.points
        if points is not None:
            wrong.append(f"row {row} has points and an item: keep one of them")
        if change and not place:
            wrong.append(f"row {row}: the item {name!r} changes points: name a stage, a test or a part")
    test, part = test_and_part(place)
    return Decision(student, test, points, reason, cells["who"], cells["when"], part, row, name, change), wrong


def test_and_part(place: str) -> tuple[str, str]:
    """The test (or stage) and the part named by an entry in the column `test`."""
    named = GRADED.fullmatch(place)
    return (named["test"], named["part"] or "") if named else (place, "")


def _conflicts(decision: Decision, others: Iterable[Decision]) -> list[str]:
    """Error messages if two rows set the same points, since the result must not depend on their order."""
    wrong = []
    for other in others:
        rows = f"rows {other.row} and {decision.row} both"
        if decision.item and (other.item, other.graded) == (decision.item, decision.graded):
            wrong.append(f"{rows} give {decision.student} the item {decision.item!r}: keep one")
        same = other.test == decision.test and (other.part == decision.part or not other.part or not decision.part)
        if same and None not in (decision.points, other.points):
            wrong.append(f"{rows} set points of {decision.student} for {decision.test}: keep one")
    return wrong


def write_empty(folder: Path) -> None:
    """Create review.csv with its header, unless it exists."""
    if not (folder / NAME).exists():
        (folder / NAME).write_text(",".join(COLUMNS) + "\r\n", encoding="utf-8-sig", newline="")


def changing(decisions: Iterable[Decision]) -> list[Decision]:
    """The decisions that change points."""
    return [one for one in decisions if one.points is not None or one.change]


def misfits(report: Report, decisions: Iterable[Decision]) -> list[str]:
    """Describe decisions about a missing stage, test or part, and decisions that award more points than the maximum."""
    tests = {test.name: test for test in report.tests}
    stages = {stage.name for stage in report.stages}
    wrong = []
    for one in decisions:
        place = f"row {one.row}: {one.student}"
        if one.test in stages:
            if one.points is not None:
                wrong.append(f"{place}: {one.test} is a stage: set points of a test, or use an item of the rubric")
            continue
        if (test := tests.get(one.test)) is None:
            wrong += [f"{place} has no test {one.test!r}; the tests are {', '.join(tests)}"] if one.test else []
            continue
        most = {part.name: part.max_points for part in test.parts} | {"": test.max_points}
        if one.part not in most:
            parts = ", ".join(filter(None, most)) or "none"
            wrong.append(f"{place} has no part {one.part!r} of {one.test}; its parts are: {parts}")
        elif one.points is not None and one.points > Decimal(str(most[one.part])):
            wrong.append(f"{place} gets {one.points} points for {one.graded}, which has {most[one.part]:g}")
    return wrong


def decided_points(
    test: str,
    points: Fraction,
    most: Fraction,
    parts: Sequence[tuple[str, Fraction, Fraction]],
    decisions: Iterable[Decision],
) -> tuple[Fraction, list[Fraction]]:
    """The points of a test and of its parts after the decisions; the parts add up to the test.

    First, points are set. Then items for parts change the points, followed by items for the whole test. Points
    stay between 0 and the maximum. A change to a whole test's points is applied to one part after another.

    Args:
        most: the maximum of the test.
        parts: name, points and maximum of each.
    """
    own = [one for one in decisions if one.test == test]
    fixed = {one.part: Fraction(one.points) for one in own if one.points is not None}
    changes: dict[str, Fraction] = defaultdict(Fraction)
    for one in own:
        changes[one.part] += Fraction(one.change)
    if not parts:
        return _within(fixed.get("", points) + changes[""], most), []
    free = {name: name not in fixed for name, _, _ in parts}
    after = [(name, fixed.get(name, had), most) for name, had, most in parts]
    after = _taken_up(after, fixed[""] - points if "" in fixed else NOTHING, free)
    after = [(name, _within(had + changes[name], most), most) for name, had, most in after]
    after = _taken_up(after, changes[""], dict.fromkeys(free, True))
    return sum((had for _, had, _ in after), NOTHING), [had for _, had, _ in after]


def _taken_up(
    parts: Sequence[tuple[str, Fraction, Fraction]], difference: Fraction, free: Mapping[str, bool]
) -> list[tuple[str, Fraction, Fraction]]:
    """Add a difference to the sum of the parts: the free parts absorb it, one after the other."""
    after = []
    for name, had, most in parts:
        now = _within(had + difference, most) if free[name] else had
        difference -= now - had
        after.append((name, now, most))
    return after


def _within(points: Fraction, most: Fraction) -> Fraction:
    return min(max(points, NOTHING), most)


def adjustment(stage: str, points: Fraction, most: Fraction, decisions: Iterable[Decision]) -> Fraction:
    """The amount by which items change a stage's total; the total stays between 0 and the stage's maximum.

    Args:
        points: the sum of the tests after their decisions.
    """
    change = sum((Fraction(one.change) for one in decisions if one.test == stage), NOTHING)
    return _within(points + change, most) - points if change else NOTHING


def with_review(report: Report, decisions: list[Decision]) -> Report:
    """A report with the staff's decisions.

    Raises:
        UserError: if a decision does not fit the report.
    """
    refuse(NAME, misfits(report, decisions))
    said = [one for one in decisions if one.reason]

    def words(one: Decision, test: TestResult) -> str:
        of = f" for {one.part}" if one.part else ""
        if one.points is None:
            return f"Points{of}: {one.comment}" if one.change else one.comment
        was = {part.name: part.points for part in test.parts}.get(one.part, test.points)
        return f"Points{of} changed by the staff from {was:g} to {float(one.points):g}: {one.comment}"

    def reviewed(test: TestResult) -> TestResult:
        about = [one for one in said if one.test == test.name]
        notes = "; ".join(words(one, test) for one in sorted(about, key=lambda one: one.points is None))
        if not changing(about):
            return replace(test, reviewed=notes)
        parts = [(part.name, Fraction(part.points), Fraction(part.max_points)) for part in test.parts]
        points, of_parts = decided_points(test.name, Fraction(test.points), Fraction(test.max_points), parts, decisions)
        after = tuple(replace(part, points=float(now)) for part, now in zip(test.parts, of_parts, strict=True))
        return replace(test, points=float(points), parts=after, reviewed=notes)

    def staged(stage: StageResult) -> StageResult:
        tests = tuple(map(reviewed, stage.tests))
        points, most = (Fraction(sum(getattr(test, key) for test in tests)) for key in ("points", "max_points"))
        changed = float(adjustment(stage.name, points, most, decisions))
        comments = tuple(one.comment for one in said if one.test == stage.name)
        return replace(stage, tests=tests, adjustment=changed, comments=comments)

    general = tuple(one.comment for one in said if not one.test)
    return replace(report, stages=tuple(map(staged, report.stages)), comments=general)
