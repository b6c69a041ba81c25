"""`python -m autograder term`: a term's points and final grades, and an explanation of how the grades are calculated.

term.csv and term.html contain the points for all assignments. If course.toml has a plan for the term
([assignments.NAME]), final.csv and term.html also contain final grades.
"""

import argparse
import csv
import io
import os
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from autograder.classroom.compare import read_run
from autograder.gradebooks.class_grades import read_class
from autograder.gradebooks.final_grades import Final, assessed_in, final_grades
from autograder.gradebooks.grading_policy import to_the_cent, unknown_names
from autograder.gradebooks.hand_in_times import hand_in_times
from autograder.gradebooks.people import People, read_people
from autograder.gradebooks.policy_file import policy_of_course
from autograder.grading.results import Report
from autograder.manifest import assignment, graded_folder
from autograder.manifest.course_config import CourseConfig, check_plan, config_or_empty
from autograder.reports.console import clean, listed
from autograder.reports.review_file import read_review
from autograder.reports.short_verdict import points
from autograder.reports.term_page import Assessed, rows_of, term_html
from autograder.reports.write_files import harmless, write_whole
from course.errors import UserError, run_command


def assessed(folder: Path, page: Path, people: People) -> Assessed:
    """Summarise the results in a folder written by batch, including the staff's decisions.

    Args:
        page: the page to write.
        people: the students of the course.

    Raises:
        UserError: if it has no results.
    """
    results = read_run(folder)
    graded = {student: report for student, report in results.reports.items() if report and not report.faulty}
    if not graded:
        raise UserError(f"{folder} has no grades: run batch first")
    called = people.called(graded)
    first = next(iter(graded.values()))
    reviewed = read_review(folder)
    seen = {student for student, one in results.members.items() if one.submission in reviewed}
    full = {(required_points(report), report.max_points) for report in graded.values()}
    if len(full) > 1:
        raise UserError(f"the results in {folder} have different full marks: run batch again until it finishes")
    required = required_points(first)
    report = folder / "report.html"
    return Assessed(
        name=folder.resolve().name,
        title=first.title,
        full=required,
        extra=first.max_points - required,
        points={called[student]: scored.points for student, scored in graded.items()},
        ungraded=len(results.reports) - len(graded),
        open=sum(bool(scored.review) and student not in seen for student, scored in graded.items()),
        assignment=results.assignment,
        notes=results.notes,
        report=quote(Path(os.path.relpath(report, page.parent)).as_posix()) if report.is_file() else "",
    )


def required_points(report: Report) -> float:
    """Return the maximum points, not counting extra credit."""
    return sum(stage.max_points for stage in report.stages if not stage.extra_credit)


def table(assignments: list[Assessed]) -> bytes:
    """Return a table for a spreadsheet, with one row per student and one column per assignment."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["student", *(assignment.name for assignment in assignments), "sum"])
    for row in rows_of(assignments):
        cells = ["" if value is None else points(value) for value in row.points]
        writer.writerow([harmless(row.name), *cells, points(row.total)])
    return text.getvalue().encode("utf-8-sig", errors="replace")


def run(args: argparse.Namespace) -> int:
    page, config = args.out / "term.html", config_or_empty()
    check_plan(config)
    people = read_people(args.names, aliases=True) if args.names else read_people(config.roster, config.match)
    folders = [*map(graded_folder, args.graded)] or [
        folder for name in config.planned if (folder := config.graded(name)).is_dir()
    ]
    if not folders:
        raise UserError(
            "name the folders that batch wrote, or plan the term in course.toml: [assignments.NAME] for each assignment"
        )
    assignments = [assessed(folder, page, people) for folder in folders]
    if len({result.name for result in assignments}) < len(assignments):
        raise UserError("two of the folders have the same name, which is the header of their column: rename one")
    for number, result in enumerate(assignments):
        for other in assignments[:number]:
            if result.assignment and result.assignment == other.assignment:
                raise UserError(
                    f"{other.name} and {result.name} both have results of the assignment {result.assignment}, which "
                    "would count twice: name one of them"
                )
    args.out.mkdir(parents=True, exist_ok=True)
    finals, notes = ([], []) if args.graded else final(config, people, [result.assignment for result in assignments])
    write_whole(page, term_html(assignments, finals).encode(errors="replace"))
    write_whole(args.out / "term.csv", table(assignments))
    rows = rows_of(assignments)
    complete = sum(None not in row.points for row in rows)
    print(f"{len(rows)} students, {complete} with a grade in all {len(assignments)} assignments.")
    for result in assignments:
        most = f"{result.full:g}" + (f" and {result.extra:g} extra" if result.extra else "")
        print(f"  {result.name}: mean {result.mean:.1f} of {most}, {result.number} graded, {result.open} to review")
        for note in result.notes:
            print(clean(f"  Note: {note}."))
    print(f"{page} and {args.out / 'term.csv'} list all points, before late days and other policy rules are applied.")
    if finals:
        write_whole(args.out / "final.csv", final_csv(finals))
        without = [one.student for one in finals if one.grade is None]
        names = f": {listed(without)}" if without else ""
        final_file = args.out / "final.csv"
        print(clean(f"{final_file} has the final grades and their calculation; {len(without)} have none yet{names}."))
    for note in notes:
        print(clean(f"Note: {note}."))
    return 0


def final(config: CourseConfig, people: People, names: list[str]) -> tuple[list[Final], list[str]]:
    """Return the final grades, computed according to the plan in course.toml, and notes for the instructor.

    Args:
        names: the assignments with results.
    """
    term, notes, submissions = [], [], {}
    for name in names:
        plan, policy = config.plan_of(name), policy_of_course(config, name)
        times: dict[str, datetime] = {}
        if policy.late:
            times, unread = hand_in_times(assignment(name), policy.late.zone, plan.times, plan.submissions)
            notes += unread
        grades = read_class(config.graded(name))
        term.append(assessed_in(people, name, policy, times, grades, plan.weight))
        submissions[name] = grades.submissions.values()
    if missing := [name for name in config.planned if name not in names]:
        notes.append(f"the final grades exclude {', '.join(missing)}, which have no results")
    handed_in = {student for one in term for student in (*one.points, *one.ungraded)}
    if people.names and (strangers := sorted(handed_in - {*people.names})):
        notes.append(f"not on the roster: {', '.join(strangers)}")
    for one in term:
        known = (*people.names, *handed_in, *submissions[one.name])
        notes += [f"{one.name}: {note}" for note in unknown_names(one.policy, one.times, known)]
    students = [*people.names, *sorted(handed_in - {*people.names})]
    return final_grades(term, students, config.slip_days, config.slip_days_each, config.drop_lowest), notes


def final_csv(finals: list[Final]) -> bytes:
    """Return the final grades for a spreadsheet: percentages, slip days, the grade, and how it was calculated."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    names = [part.name for part in finals[0].parts]
    writer.writerow(["student", *(f"{name} %" for name in names), "slip days", "final %", "arithmetic"])
    for one in finals:
        percents = ["" if part.percent is None else str(to_the_cent(part.percent)) for part in one.parts]
        slipped = sum(part.slipped for part in one.parts)
        grade = "" if one.grade is None else str(one.grade)
        writer.writerow([harmless(one.student), *percents, slipped, grade, harmless(one.arithmetic)])
    return text.getvalue().encode("utf-8-sig", errors="replace")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m autograder term", description="Show the results of all assignments in a term side by side."
    )
    parser.add_argument(
        "graded",
        type=Path,
        nargs="*",
        metavar="GRADED",
        help="folders written by batch, or assignments (default: as in course.toml)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="folder for term.html and term.csv (default: this one)"
    )
    parser.add_argument(
        "--names",
        type=Path,
        metavar="FILE",
        help="CSV with the columns student (the submission's name) and name (default: the roster of course.toml)",
    )
    args = parser.parse_args(arguments)
    return run_command(lambda: run(args))
