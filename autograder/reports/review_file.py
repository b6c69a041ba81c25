"""review.csv: what the staff decided over the grader. It survives regrading and goes into grades, feedback and exports.

A row: student, test, points, reason, who, when. With points it sets those of a test; of several rows for the same test
the last counts. Without points it is a comment, on a test or, without one, on the whole. The reason is for the student.
A row without points and reason says that somebody has looked at the submission; the student does not see it.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

from autograder.grading.results import Report, TestResult
from course.errors import UserError

NAME = "review.csv"
COLUMNS = ("student", "test", "points", "reason", "who", "when")


@dataclass(frozen=True)
class Decision:
    """A row of review.csv."""

    student: str
    test: str  # "" for a comment on the whole
    points: Decimal | None  # None for a comment
    reason: str
    who: str
    when: str

    @property
    def by(self) -> str:
        """Who and when, in words."""
        return ", ".join(filter(None, (self.who, self.when)))


def read_review(folder: Path) -> dict[str, list[Decision]]:
    """The decisions of a class by student, in their order; nothing if there is no review.csv.

    Raises:
        UserError: if the file is not one, a row has points for no test, or they are no number that is not negative.
    """
    path = folder / NAME
    if not path.exists():
        return {}
    try:
        text = path.read_bytes().decode("utf-8-sig")
        dialect = ";" if text.partition("\n")[0].count(";") > text.partition("\n")[0].count(",") else ","
        table = csv.DictReader(io.StringIO(text, newline=""), delimiter=dialect)
        rows = list(table)
        header = [name.strip().lower() for name in table.fieldnames or ()]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read ({error}): save it as CSV in UTF-8") from error
    if missing := [name for name in COLUMNS if name not in header]:
        raise UserError(f"{path} lacks the column {', '.join(missing)}; its columns are {', '.join(COLUMNS)}")
    found: dict[str, list[Decision]] = defaultdict(list)
    for number, row in enumerate(rows, start=2):
        cells = {str(name).strip().lower(): (cell or "").strip() for name, cell in row.items() if isinstance(cell, str)}
        decision = _decision(cells, f"{path}, row {number}")
        if decision is not None:
            found[decision.student].append(decision)
    return dict(found)


def _decision(cells: Mapping[str, str], place: str) -> Decision | None:
    if not any(cells.values()):
        return None
    # A name that a spreadsheet would take for a formula stands behind an apostrophe, as in grades.csv.
    student = cells["student"].removeprefix("'")
    if not student:
        raise UserError(f"{place} names no student")
    points = None
    if text := cells["points"].replace(",", "."):
        try:
            points = Decimal(text)
        except InvalidOperation:
            points = Decimal(-1)
        if not points.is_finite() or points < 0:
            raise UserError(f"{place}: points must be a number that is not negative, not {cells['points']!r}")
        if not cells["test"]:
            raise UserError(f"{place} has points, but names no test: they are set for one test at a time")
        if not cells["reason"]:
            raise UserError(f"{place} changes points and gives no reason: the student reads it")
    test = cells["test"].rpartition(".")[2]  # grades.csv calls it stage.test
    return Decision(student, test, points, cells["reason"], cells["who"], cells["when"])


def write_empty(folder: Path) -> None:
    """Make review.csv with its heading, unless it is there."""
    if not (folder / NAME).exists():
        (folder / NAME).write_text(",".join(COLUMNS) + "\r\n", encoding="utf-8-sig", newline="")


def set_points(decisions: Iterable[Decision]) -> dict[str, Decision]:
    """The decisions that set points, by test; the last one counts."""
    return {one.test: one for one in decisions if one.points is not None}


def with_review(report: Report, decisions: list[Decision]) -> Report:
    """A report with what the staff decided.

    Raises:
        UserError: if a decision is about a test that there is not, or gives more points than it has.
    """
    tests = {test.name: test for test in report.tests}
    for one in decisions:
        if one.test and one.test not in tests:
            raise UserError(f"{NAME}: {one.student} has no test {one.test!r}; the tests are {', '.join(tests)}")
        if one.points is not None and float(one.points) > tests[one.test].max_points:
            most = f"{tests[one.test].max_points:g}"
            raise UserError(f"{NAME}: {one.student} gets {one.points} points for {one.test}, which has {most}")
    changed = set_points(decisions)
    said = [one for one in decisions if one.reason]

    def reviewed(test: TestResult) -> TestResult:
        notes = [f"{one.reason} ({one.by})" if one.by else one.reason for one in said if one.test == test.name]
        if (decision := changed.get(test.name)) is None:
            return replace(test, reviewed="; ".join(notes))
        was, now = f"{test.points:g}", f"{decision.points:g}"
        words = f"Points changed by the staff from {was} to {now}: " + "; ".join(notes)
        return replace(test, points=float(decision.points or 0), reviewed=words)

    stages = tuple(replace(stage, tests=tuple(map(reviewed, stage.tests))) for stage in report.stages)
    general = tuple(f"{one.reason} ({one.by})" if one.by else one.reason for one in said if not one.test)
    return replace(report, stages=stages, comments=general)
