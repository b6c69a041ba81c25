"""review.csv: what the staff decided over the grader. It survives regrading and goes into grades, feedback and exports.

A row: student, test, points, reason, who, when. With points it sets those of a test, or of a part of it: `test` is
written as in grades.csv, "stage.test" or "stage.test.part"; the stage may be left out. Without points it is a comment,
on a test or, without one, on the whole. The reason is for the student. A row without points and reason says that
somebody has looked at the submission; the student does not see it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from autograder.grading.results import Report, TestResult
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

NAME = "review.csv"
COLUMNS = ("student", "test", "points", "reason", "who", "when")
GRADED = re.compile(r"(?:[^.]+\.)?(?P<test>test\w*)(?:\.(?P<part>.+))?")  # as a column of grades.csv is called
MOST_ERRORS = 20


@dataclass(frozen=True)
class Decision:
    """A row of review.csv."""

    student: str
    test: str  # "" for a comment on the whole
    points: Decimal | None  # None for a comment
    reason: str
    who: str
    when: str
    part: str = ""  # of the test; "" for all of it
    row: int = 0  # in the file

    @property
    def by(self) -> str:
        """Who and when, in words."""
        return ", ".join(filter(None, (self.who, self.when)))

    @property
    def graded(self) -> str:
        """The test, and the part of it."""
        return f"{self.test}.{self.part}" if self.part else self.test


def read_review(folder: Path) -> dict[str, list[Decision]]:
    """The decisions of a class by student, in their order; nothing if there is no review.csv.

    Raises:
        UserError: if the file is not one, or rows are wrong: points for no test, points that are not a number of at
            least 0, no reason for them, or two rows with points for the same test. All of them are named at once.
    """
    found, wrong = parse_review(folder)
    refuse(folder / NAME, wrong)
    return found


def parse_review(folder: Path) -> tuple[dict[str, list[Decision]], list[str]]:
    """The decisions of a class by student, and what is wrong with rows, in words.

    Raises:
        UserError: if the file cannot be read at all.
    """
    path = folder / NAME
    if not path.exists():
        return {}, []
    sheet = Sheet.read(path)
    at = {cell.strip().lower(): place for place, cell in enumerate(sheet.header)}
    if missing := [name for name in COLUMNS if name not in at]:
        raise UserError(f"{path} lacks the column {', '.join(missing)}; its columns are {', '.join(COLUMNS)}")
    found: dict[str, list[Decision]] = defaultdict(list)
    wrong: list[str] = []
    for row in range(1, len(sheet.rows)):
        cells = {name: sheet.cell(row, at[name]) for name in COLUMNS}
        if any(cells.values()):
            decision, problems = _decision(cells, sheet.row_in_file(row))
            wrong += problems or _conflicts(decision, found[decision.student])
            found[decision.student].append(decision)
    return dict(found), wrong


def refuse(file: Path | str, wrong: Sequence[str]) -> None:
    """Name everything that is wrong in a file.

    Raises:
        UserError: if something is.
    """
    if wrong:
        more = [f"and {len(wrong) - MOST_ERRORS} more"] if len(wrong) > MOST_ERRORS else []
        raise UserError("\n  ".join([f"{file} has mistakes:", *wrong[:MOST_ERRORS], *more]))


def _decision(cells: Mapping[str, str], row: int) -> tuple[Decision, list[str]]:
    """A row, and what is wrong with it."""
    wrong = []
    # grades.csv has an apostrophe before a name that a spreadsheet would take for a formula.
    student = cells["student"].removeprefix("'")
    if not student:
        wrong.append(f"row {row} names no student")
    points = None
    if text := cells["points"].replace(",", "."):
        try:
            points = Decimal(text)
        except InvalidOperation:
            points = Decimal(-1)
        if not points.is_finite() or points < 0:
            wrong.append(f"row {row}: points must be a number of at least 0, not {cells['points']!r}")
        if not cells["test"]:
            wrong.append(f"row {row} has points but names no test: points are set for one test at a time")
        if not cells["reason"]:
            wrong.append(f"row {row} changes points without a reason: the student reads it")
    named = GRADED.fullmatch(cells["test"])
    test, part = (named["test"], named["part"] or "") if named else (cells["test"], "")
    return Decision(student, test, points, cells["reason"], cells["who"], cells["when"], part, row), wrong


def _conflicts(decision: Decision, others: Iterable[Decision]) -> list[str]:
    """Two rows that set the same points: which of them counts must not depend on their order."""
    return [
        f"rows {other.row} and {decision.row} both set points of {decision.student} for {decision.test}: keep one"
        for other in others
        if None not in (decision.points, other.points)
        and other.test == decision.test
        and (other.part == decision.part or not other.part or not decision.part)
    ]


def write_empty(folder: Path) -> None:
    """Make review.csv with its heading, unless it is there."""
    if not (folder / NAME).exists():
        (folder / NAME).write_text(",".join(COLUMNS) + "\r\n", encoding="utf-8-sig", newline="")


def set_points(decisions: Iterable[Decision]) -> list[Decision]:
    """The decisions that set points."""
    return [one for one in decisions if one.points is not None]


def misfits(report: Report, decisions: Iterable[Decision]) -> list[str]:
    """Decisions about a test or part that does not exist, or with more points than it has, in words."""
    tests = {test.name: test for test in report.tests}
    wrong = []
    for one in decisions:
        place = f"row {one.row}: {one.student}"
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
    test: str, points: Fraction, parts: Sequence[tuple[str, Fraction, Fraction]], decisions: Iterable[Decision]
) -> tuple[Fraction, list[Fraction]]:
    """The points of a test and of its parts after the decisions; parts add up to the test.

    If a decision sets the points of a whole test, its parts take up the difference one after the other.

    Args:
        parts: name, points and maximum of each.
    """
    changed = {one.part: Fraction(one.points) for one in decisions if one.test == test and one.points is not None}
    if not parts:
        return changed.get("", points), []
    left = changed[""] - points if "" in changed else Fraction(0)
    after = []
    for name, had, most in parts:
        now = changed.get(name, min(max(had + left, Fraction(0)), most))
        left -= now - had if name not in changed else 0
        after.append(now)
    return changed.get("", sum(after, Fraction(0))), after


def with_review(report: Report, decisions: list[Decision]) -> Report:
    """A report with what the staff decided.

    Raises:
        UserError: if a decision does not fit the report.
    """
    refuse(NAME, misfits(report, decisions))
    said = [one for one in decisions if one.reason]

    def words(one: Decision, test: TestResult) -> str:
        note = f"{one.reason} ({one.by})" if one.by else one.reason
        if one.points is None:
            return note
        was = {part.name: part.points for part in test.parts}.get(one.part, test.points)
        of = f" for {one.part}" if one.part else ""
        return f"Points{of} changed by the staff from {was:g} to {float(one.points):g}: {note}"

    def reviewed(test: TestResult) -> TestResult:
        about = [one for one in said if one.test == test.name]
        notes = "; ".join(words(one, test) for one in sorted(about, key=lambda one: one.points is None))
        if not set_points(about):
            return replace(test, reviewed=notes)
        parts = [(part.name, Fraction(part.points), Fraction(part.max_points)) for part in test.parts]
        points, of_parts = decided_points(test.name, Fraction(test.points), parts, decisions)
        after = tuple(replace(part, points=float(now)) for part, now in zip(test.parts, of_parts, strict=True))
        return replace(test, points=float(points), parts=after, reviewed=notes)

    stages = tuple(replace(stage, tests=tuple(map(reviewed, stage.tests))) for stage in report.stages)
    general = tuple(f"{one.reason} ({one.by})" if one.by else one.reason for one in said if not one.test)
    return replace(report, stages=stages, comments=general)
