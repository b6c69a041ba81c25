"""`python -m autograder compare OLD NEW`: compare two runs of batch before grades are released.

The result shows who gains, who loses, and why. The runs may differ in tests, seeds, submissions, or in the staff's
decisions (review.csv).
"""

import argparse
import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

from autograder.classroom.saved_results import read_result
from autograder.gradebooks.class_grades import graders
from autograder.gradebooks.groups import Member, read_groups
from autograder.grading.results import Report, TestResult
from autograder.manifest import graded_folder
from autograder.reports.console import clean
from autograder.reports.review_file import read_review, with_review
from autograder.reports.short_verdict import points
from autograder.reports.write_files import harmless, write_whole
from course.errors import UserError, run_command

SAME, DIFFERENT = 0, 1


@dataclass(frozen=True)
class Run:
    """A run's reports by student. All members of a group share the report on the submission that counts."""

    reports: dict[str, Report | None]
    members: dict[str, Member]
    digests: dict[str, str]  # by submission
    assignment: str = ""
    notes: tuple[str, ...] = ()  # notes for the instructor on the class as a whole


@dataclass(frozen=True)
class Change:
    """The difference between two runs for a student."""

    student: str
    before: float | None  # points; None if there is no grade
    after: float | None
    reasons: tuple[str, ...]

    @property
    def gain(self) -> float:
        """The points gained; negative for a loss."""
        return (self.after or 0) - (self.before or 0)


def read_run(folder: Path) -> Run:
    """Read the results from a folder written by batch.

    Raises:
        UserError: if the folder has none, or a result cannot be read.
    """
    try:
        assignment = str(json.loads((folder / "batch.json").read_bytes()).get("assignment", ""))
    except (OSError, ValueError, AttributeError):
        raise UserError(f"{folder} has no results of batch") from None
    review = read_review(folder)
    entries = []
    of_submission: dict[str, Report | None] = {}
    digests = {}
    for path in sorted((folder / "results").glob("*.json")):
        entry, report = read_result(path)
        student = entry["student"]
        digests[student] = entry.get("digest", "")
        entries.append({key: entry.get(key) for key in ("student", "settings", "fault")})
        of_submission[student] = with_review(report, review.get(student, [])) if report else None
    members = {one.student: one for one in read_groups(folder).members(digests)}
    reports = {student: of_submission.get(one.submission) for student, one in members.items()}
    return Run(reports, members, digests, assignment, tuple(graders(entries)))


def compare(old: Run, new: Run) -> list[Change]:
    """Return the differences, losses first."""
    changes = []
    for student in sorted({*old.reports, *new.reports}):
        before, after = old.reports.get(student), new.reports.get(student)
        if reasons := tuple(_reasons(student, old, new)):
            was, now = (report.points if report else None for report in (before, after))
            changes.append(Change(student, was, now, reasons))
    return sorted(changes, key=lambda change: (change.gain, change.student))


def _reasons(student: str, old: Run, new: Run) -> list[str]:
    if student not in old.reports or student not in new.reports:
        return ["is only in the " + ("new" if student in new.reports else "old") + " run"]
    before, after = old.reports[student], new.reports[student]
    if before is None or after is None:
        which, run = ("old", old) if before is None else ("new", new)
        why = run.members[student].why or "the grader failed"
        return [] if before is after else [f"no grade in the {which} run: {why}"]
    was, now = (run.digests[run.members[student].submission] for run in (old, new))
    reasons = ["handed in something else"] if was != now else []
    olds, news = ({(test.stage, test.name): test for test in report.tests} for report in (before, after))
    for key in dict.fromkeys((*olds, *news)):
        if words := _different(olds.get(key), news.get(key)):
            reasons.append(f"{'.'.join(key)}: {words}")
    return reasons


def _different(old: TestResult | None, new: TestResult | None) -> str:
    """Describe the difference between two results of a test; "" if there is none."""
    if old is None or new is None:
        return f"{points((old or new).points)} points, only in the {'new' if old is None else 'old'} run"  # type: ignore[union-attr]
    if (old.status, old.points, old.reviewed) == (new.status, new.points, new.reviewed):
        return ""
    words = f"{old.status}, {points(old.points)} -> {new.status}, {points(new.points)} of {points(new.max_points)}"
    said = new.reviewed or (new.message if new.status != "passed" else "") or old.reviewed or old.message
    return f"{words}; {said}" if said else words


def table(changes: list[Change]) -> bytes:
    """Return a table for a spreadsheet, one row per student."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["student", "before", "after", "difference", "why"])
    for change in changes:
        scores = ["" if value is None else points(value) for value in (change.before, change.after)]
        writer.writerow([harmless(change.student), *scores, points(change.gain), harmless("; ".join(change.reasons))])
    return text.getvalue().encode("utf-8-sig", errors="replace")


def run(args: argparse.Namespace) -> int:
    old, new = (read_run(graded_folder(folder)) for folder in (args.old, args.new))
    changes = compare(old, new)
    gained, lost = (sum(sign * change.gain > 0 for change in changes) for sign in (1, -1))
    other = len(changes) - gained - lost
    students = {*old.reports, *new.reports}
    print(f"{len(students)} students: {gained} gain, {lost} lose, {other} differ in other ways.")
    for change in changes:
        before, after = ("no grade" if value is None else points(value) for value in (change.before, change.after))
        print(clean(f"{change.student}: {before} -> {after} ({change.gain:+g})"))
        for reason in change.reasons:
            print(clean("  " + " ".join(reason.split())))
    if args.out:
        write_whole(args.out, table(changes))
        print(f"The table is in {args.out}.")
    return DIFFERENT if changes else SAME


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m autograder compare",
        description="Compare two runs of batch over a class: who gains, who loses, and why.",
        epilog="exit status: 0 no differences, 1 differences, 2 wrong usage",
    )
    parser.add_argument("old", type=Path, metavar="OLD", help="folder written by batch, or an assignment")
    parser.add_argument("new", type=Path, metavar="NEW", help="folder or assignment of the second run")
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="also write a table")
    args = parser.parse_args(arguments)
    return run_command(lambda: run(args))
