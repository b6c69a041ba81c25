"""Read the results that `python -m autograder batch` has written for a class."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from autograder.gradebooks.grading_policy import Points
from autograder.grading.results import from_json
from autograder.manifest.table import exact
from autograder.questions.answers import POINTS, read_points
from autograder.reports.review_file import Decision, adjustment, changing, decided_points, read_review
from autograder.reports.write_files import harmless
from course.errors import UserError

KEYS = ("points", "max_points")
TOLERANCE = Fraction(1, 1000)  # for rounding errors in a total


@dataclass(frozen=True)
class StagePoints:
    """A student's points for a stage, after the staff's decisions."""

    name: str
    title: str
    points: Fraction
    full: Fraction


@dataclass(frozen=True)
class Details:
    """Details of a submission other than its points."""

    stages: tuple[StagePoints, ...] = ()
    comments: tuple[str, ...] = ()  # comments by the staff


@dataclass(frozen=True)
class ClassGrades:
    """The points of all students in a class."""

    assignment: str
    points: dict[str, Points]
    ungraded: dict[str, str]  # student -> why there are no points
    notes: tuple[str, ...]  # notes for the instructor on the class as a whole
    submissions: dict[str, str] = field(default_factory=dict)  # student -> the group's submission that counts
    details: dict[str, Details] = field(default_factory=dict)

    @property
    def full(self) -> Fraction:
        """Full marks."""
        return next((points.full for points in self.points.values()), Fraction(0))


def read_class(folder: Path) -> ClassGrades:
    """Read a class's points from a folder written by batch.

    Raises:
        UserError: if the folder has no results, or batch did not finish.
    """
    again = "run batch again until it finishes"
    try:
        name = str(json.loads((folder / "batch.json").read_bytes())["assignment"])
        table = io.StringIO((folder / "grades.csv").read_bytes().decode("utf-8-sig"), newline="")
        rows = [
            (row["student"], row["total"], row["status"], row.get("submission") or row["student"])
            for row in csv.DictReader(table)
        ]
    except FileNotFoundError as error:
        raise UserError(f"{folder} has no finished results of batch ({error.filename} is missing): {again}") from error
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise UserError(f"the results in {folder} cannot be read ({error}): {again}") from error
    entries, review, asked = _entries(folder / "results"), read_review(folder), read_points(folder)
    points: dict[str, Points] = {}
    ungraded: dict[str, str] = {}
    unconfined = visible_only = 0
    submissions: dict[str, str] = {}
    of_submission: dict[str, Points] = {}  # several students in a group share these
    details: dict[str, Details] = {}
    for cell, total, status, handed_in in rows:
        entry = entries.get(handed_in)
        student = entry["student"] if entry and handed_in == cell else cell.removeprefix("'")
        if entry:
            submissions[student] = entry["student"]
        if entry is None:
            ungraded[student] = status if status != "graded" else f"the result is missing or damaged: {again}"
        elif asked and cell not in asked and handed_in not in asked:
            ungraded[student] = f"has no row in {POINTS}: no questions about this code were asked; add a row"
        elif entry["fault"] or status != "graded":
            ungraded[student] = f"the grader failed: {again}" if status in ("graded", "grader fault") else status
        else:
            if handed_in not in of_submission:
                decisions = review.get(entry["student"], [])
                changed = {decision.graded for decision in changing(decisions)}
                of_submission[handed_in] = replace(_points(reviewed(entry["report"], decisions)), by_staff=len(changed))
            total_points = of_submission[handed_in]
            if abs(_fraction(total) - total_points.required - total_points.extra) > TOLERANCE:
                raise UserError(f"{folder / 'grades.csv'} is older than the result of {entry['student']}: {again}")
            points[student] = with_questions(total_points, asked, cell if cell in asked else handed_in)
            details[student] = _details(entry["report"], review.get(entry["student"], []))
            unconfined += entry["report"].get("confined") is not True
            visible_only += entry["report"].get("hidden_seed") is None
    if len({(decision.full, decision.all_extra) for decision in points.values()}) > 1:
        raise UserError(f"the results in {folder} have different full marks: {again}")
    notes = list(graders(entries.values()))
    if unconfined:
        notes.append(f"{unconfined} were graded without confinement: a hostile submission could have changed any grade")
    if visible_only:
        notes.append(f"{visible_only} were graded with the visible tests only")
    return ClassGrades(name, points, ungraded, tuple(notes), submissions, details)


def assignment_in(folder: Path) -> str:
    """Return the name of the assignment whose results are in a folder; "" if there are none."""
    try:
        return str(json.loads((folder / "batch.json").read_bytes())["assignment"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _entries(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the readable results, keyed by the student's cell in grades.csv."""
    entries: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            # The digits are kept as written: no floating-point error between points and grade.
            entry = json.loads(path.read_bytes(), parse_float=exact)
            if not entry["fault"]:
                from_json(entry["report"])
                _points(entry["report"])
            cell = harmless(entry["student"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError):
            continue
        if cell in entries:
            raise UserError(f"{folder} has two results for {cell}: rename one of the submissions and grade again")
        entries[cell] = entry
    return entries


def graders(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a list with a note if students were graded with different versions of the tests; else an empty list.

    Args:
        entries: the students' records written by batch.
    """
    students: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for entry in entries:
        if not entry.get("fault"):
            settings = entry.get("settings") or {}
            versions = (settings.get(key) for key in ("grader", "seed", "per_student"))
            students[tuple(versions)].append(entry["student"])
    if len(students) < 2:
        return []
    groups = sorted(students.values(), key=len)
    listed = [f"{len(group)} ({', '.join(sorted(group)[:5])}{', ...' * (len(group) > 5)})" for group in groups]
    words = f"different versions of the tests graded {' and '.join(listed)}: run batch again without --regrade"
    return [words]


def reviewed(report: dict[str, Any], decisions: list[Decision]) -> dict[str, Any]:
    """Apply the staff's changes to the points in a report and return it."""
    changed = {decision.test for decision in changing(decisions)}
    for stage in report["stages"]:
        for test in stage["tests"]:
            if test["name"] in changed:
                parts = [
                    (part["name"], Fraction(part["points"]), Fraction(part["max_points"]))
                    for part in test.get("parts", ())
                ]
                points, most = Fraction(test["points"]), Fraction(test["max_points"])
                test["points"], _ = decided_points(test["name"], points, most, parts, decisions)
        points, most = (sum((Fraction(test[key]) for test in stage["tests"]), Fraction(0)) for key in KEYS)
        stage["adjustment"] = adjustment(stage["name"], points, most, decisions)
    return report


def _details(report: dict[str, Any], decisions: list[Decision]) -> Details:
    """Return the points for each stage in a reviewed report, and the staff's comments."""
    stages = []
    for stage in report["stages"]:
        points, full = (sum((Fraction(test[key]) for test in stage["tests"]), Fraction(0)) for key in KEYS)
        stages.append(StagePoints(stage["name"], stage["title"], points + Fraction(stage["adjustment"]), full))
    said = [one for one in decisions if one.reason]
    comments = tuple(f"{one.graded}: {one.comment}" if one.test else one.comment for one in said)
    return Details(tuple(stages), comments)


def with_questions(points: Points, asked: Mapping[str, tuple[Fraction, Fraction]], cell: str) -> Points:
    """Add the points for questions about the student's own code, if the class was asked such questions."""
    full = max((most for _, most in asked.values()), default=Fraction(0))
    earned = asked.get(cell, (Fraction(0), full))[0]
    return replace(points, required=points.required + earned, full=points.full + full)


def _points(report: dict[str, Any]) -> Points:
    def total(extra: bool, key: str) -> Fraction:
        stages = [stage for stage in report["stages"] if stage["extra_credit"] is extra]
        of_staff = [Fraction(stage.get("adjustment", 0)) for stage in stages] if key == "points" else []
        return sum((*(Fraction(test[key]) for stage in stages for test in stage["tests"]), *of_staff), Fraction(0))

    reached, most = ([total(extra, key) for extra in (False, True)] for key in ("points", "max_points"))
    points = Points(reached[0], reached[1], most[0], most[1])
    if points.full <= 0:
        raise ValueError("no points at all")
    return points


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(exact(text))
    except (ValueError, OverflowError) as error:
        raise UserError(f"grades.csv has {text!r} where a total is expected: run batch again") from error
