"""`python -m autograder term GRADED ...`: the points of a whole term, as a table in term.csv and a page, term.html."""

import argparse
import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from autograder.classroom.compare import read_run
from autograder.gradebooks.groups import read_groups
from autograder.gradebooks.match_students import normal
from autograder.gradebooks.moodle import DOWNLOADED
from autograder.grading.results import Report
from autograder.reports.console import clean
from autograder.reports.csv_sheet import Sheet
from autograder.reports.review_file import read_review
from autograder.reports.short_verdict import points
from autograder.reports.term_page import Assessed, rows_of, term_html
from autograder.reports.write_files import harmless, write_whole
from course.errors import UserError, run_command


def read_names(path: Path) -> dict[str, str]:
    """Read the students' names, by the normal names of their submissions: a CSV file with the columns student, name.

    Raises:
        UserError: if it is not such a file.
    """
    sheet = Sheet.read(path)
    student_at, name_at = sheet.column("student"), sheet.column("name")
    names: dict[str, str] = {}
    for row in range(1, len(sheet.rows)):
        student, name = sheet.cell(row, student_at), sheet.cell(row, name_at)
        if student and name and names.setdefault(normal(student), name) != name:
            raise UserError(f"{path} has two names for {student}: keep one")
    return names


def people(students: Iterable[str], known_as: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the students' names in a term, by the names of their submissions.

    Moodle appends a number to the full name that differs between assignments. It is dropped, unless two students of an
    assignment have the same name.

    Args:
        known_as: replacement names, by the normal name of a submission.
    """
    names = {}
    for student in students:
        matched = DOWNLOADED.fullmatch(student)
        of_moodle = matched and (" " in matched[1] or "_assignsubmission_" in student)
        plain = matched[1] if matched and of_moodle else student
        names[student] = (known_as or {}).get(normal(student), plain)
    known = Counter(names.values())
    return {student: name if known[name] == 1 else student for student, name in names.items()}


def assessed(folder: Path, page: Path, known_as: Mapping[str, str]) -> Assessed:
    """Summarise the results in a folder written by batch, with the staff's decisions.

    Args:
        page: the page to write.
        known_as: names of students, as for `people`.

    Raises:
        UserError: if it has no results.
    """
    results = read_run(folder)
    members = {one.student: results.reports.get(one.submission) for one in read_groups(folder).members(results.digests)}
    graded = {student: report for student, report in members.items() if report is not None and not report.faulty}
    if not graded:
        raise UserError(f"{folder} holds no grades: run batch first")
    called = people(graded, known_as)
    first = next(iter(graded.values()))
    reviewed = read_review(folder)
    full = {(required_points(report), report.max_points) for report in graded.values()}
    if len(full) > 1:
        raise UserError(f"the results in {folder} do not have the same full marks: run batch again, to its end")
    required = required_points(first)
    report = folder / "report.html"
    return Assessed(
        name=folder.resolve().name,
        title=first.title,
        full=required,
        extra=first.max_points - required,
        points={called[student]: scored.points for student, scored in graded.items()},
        ungraded=len(members) - len(graded),
        open=sum(bool(scored.review) and student not in reviewed for student, scored in graded.items()),
        assignment=results.assignment,
        notes=results.notes,
        report=quote(Path(os.path.relpath(report, page.parent)).as_posix()) if report.is_file() else "",
    )


def required_points(report: Report) -> float:
    """Return full marks without extra credit."""
    return sum(stage.max_points for stage in report.stages if not stage.extra_credit)


def table(assignments: list[Assessed]) -> bytes:
    """Return a table for a spreadsheet, one row per student and one column per assignment."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["student", *(assignment.name for assignment in assignments), "sum"])
    for row in rows_of(assignments):
        cells = ["" if value is None else points(value) for value in row.points]
        writer.writerow([harmless(row.name), *cells, points(row.total)])
    return text.getvalue().encode("utf-8-sig", errors="replace")


def run(args: argparse.Namespace) -> int:
    page, names = args.out / "term.html", read_names(args.names) if args.names else {}
    assignments = [assessed(folder, page, names) for folder in args.graded]
    if len({result.name for result in assignments}) < len(assignments):
        raise UserError("two of the folders have the same name, which heads their column: rename one")
    for number, result in enumerate(assignments):
        for other in assignments[:number]:
            if result.assignment and result.assignment == other.assignment:
                raise UserError(
                    f"{other.name} and {result.name} both hold results of the assignment {result.assignment}, which "
                    "would count twice: name one of them"
                )
    args.out.mkdir(parents=True, exist_ok=True)
    write_whole(page, term_html(assignments).encode(errors="replace"))
    write_whole(args.out / "term.csv", table(assignments))
    rows = rows_of(assignments)
    complete = sum(None not in row.points for row in rows)
    print(f"{len(rows)} students, {complete} with a grade in all {len(assignments)} assignments.")
    for result in assignments:
        most = f"{result.full:g}" + (f" and {result.extra:g} extra" if result.extra else "")
        print(f"  {result.name}: mean {result.mean:.1f} of {most}, {result.number} graded, {result.open} to review")
        for note in result.notes:
            print(clean(f"  Note: {note}."))
    print(f"{page} and {args.out / 'term.csv'} have all of them, before late days and other rules of a policy.")
    return 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m autograder term", description="Put the results of all assignments of a term side by side."
    )
    parser.add_argument("graded", type=Path, nargs="+", metavar="GRADED", help="folders written by batch")
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="folder for term.html and term.csv (default: this one)"
    )
    parser.add_argument(
        "--names",
        type=Path,
        metavar="FILE",
        help="CSV with the columns student (the submission's name) and name",
    )
    args = parser.parse_args(arguments)
    return run_command(lambda: run(args))
