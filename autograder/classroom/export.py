"""`python -m autograder export canvas|moodle|feedback|verdict|similarity`: data for gradebooks and other programs."""

import argparse
import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from autograder.gradebooks.canvas import WAYS, best_way, canvas_roster, only_column
from autograder.gradebooks.class_grades import ClassGrades, assignment_in, read_class
from autograder.gradebooks.final_grades import assessed_in, slip_days
from autograder.gradebooks.grading_policy import Policy, number, shown
from autograder.gradebooks.hand_in_times import hand_in_times
from autograder.gradebooks.match_students import normal
from autograder.gradebooks.moodle import moodle_roster
from autograder.gradebooks.people import read_people
from autograder.gradebooks.policy_file import policy_of_course, read_policy
from autograder.gradebooks.roster import EXPORTED, KEPT, NO_ROW, NO_SUBMISSION, UNGRADED, Line, Roster, fill
from autograder.manifest import assignment, assignments
from autograder.manifest.course_config import config_or_empty
from autograder.reports.console import clean
from autograder.reports.csv_sheet import Sheet
from autograder.reports.write_files import harmless, write_whole
from autograder.submissions.which_assignment import assignment_of_class
from course.errors import UserError, run_command

DONE, NOT_ALL = 0, 1
FEEDBACK_FOR = ("moodle", "canvas", "mail")
HEADINGS = {
    UNGRADED: "without a grade: their cells stay as they were",
    NO_ROW: "not found in the gradebook: nothing was written for them",
    KEPT: "left as they were in the gradebook",
    NO_SUBMISSION: "in the gradebook without a submission here: their cells stay as they were",
}
DETAILS = (
    *("student", "gradebook", "status", "note", "points", "extra credit", "counted", "full marks", "handed in", "due"),
    *("days late", "penalty percent", "penalty", "grade", "explanation"),
)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m autograder export",
        description="Write the grades of a class into a gradebook, or its modules for a similarity checker.",
        epilog="exit status: 0 all graded students are in the file, 1 not all (they are listed), 2 wrong usage",
    )
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="canvas|moodle|feedback|verdict|similarity")
    canvas = kinds.add_parser("canvas", help="fill the gradebook file that Canvas exported")
    moodle = kinds.add_parser("moodle", help="fill the offline grading worksheet of a Moodle assignment")
    feedback = kinds.add_parser("feedback", help="pack the students' pages for upload to Moodle or Canvas, or for mail")
    feedback.add_argument("results", type=Path, metavar="RESULTS", help="folder written by batch")
    feedback.add_argument("--for", dest="platform", choices=FEEDBACK_FOR, required=True, help="how the pages are named")
    feedback.add_argument("--out", type=Path, required=True, metavar="FILE", help="zip file to write")
    feedback.add_argument("--submissions", type=Path, metavar="DIR", help="download from Canvas, for its loose files")
    verdicts = kinds.add_parser("verdict", help="the verdicts as data: verdict/1, JUnit XML, SARIF, Markdown")
    verdicts.add_argument("results", type=Path, metavar="RESULTS", help="folder written by batch")
    verdicts.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for a file per student")
    verdicts.add_argument(
        "--format", choices=("json", "junit", "sarif", "markdown", "gradescope"), default="json", help="(%(default)s)"
    )
    verdicts.add_argument("--audience", choices=("student", "staff"), default="student", help="(%(default)s)")
    similarity = kinds.add_parser("similarity", help="lay out the modules for JPlag and Dolos")
    for kind in (canvas, moodle):
        kind.add_argument("results", type=Path, metavar="RESULTS", help="folder written by batch, or an assignment")
        kind.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to import")
        kind.add_argument(
            "--policy", type=Path, metavar="FILE", help="late policy and extra credit (see docs/gradebooks.md)"
        )
        kind.add_argument("--times", type=Path, metavar="FILE", help="submission times: CSV, or JSON from Canvas' API")
        kind.add_argument(
            "--submissions",
            type=Path,
            metavar="DIR",
            help="submissions with nbgrader's timestamp.txt",
        )
    canvas.add_argument(
        "--gradebook", type=Path, required=True, metavar="FILE", help="gradebook file exported from Canvas"
    )
    canvas.add_argument("--column", help='column of the assignment: "Name (12345)", the name or the number')
    canvas.add_argument(
        "--match",
        metavar="BY",
        help="login, id, name, sis, email or a header (default: the best match of login, id and name)",
    )
    canvas.add_argument("--only", action="store_true", help="drop the columns of all other assignments")
    moodle.add_argument("--worksheet", type=Path, required=True, metavar="FILE", help="worksheet exported from Moodle")
    moodle.add_argument("--match", metavar="BY", help="id (default), email, name or a header")
    similarity.add_argument("submissions", type=Path, metavar="SUBMISSIONS", help="folder or zip file, as for batch")
    similarity.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    similarity.add_argument("--assignment", metavar="NAME", help="default: that of most students, else the first")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace) -> int:
    if args.kind == "similarity":
        from autograder.classroom.similarity_export import export_similarity

        chosen, notes = assignment_of_class(args.assignment, args.submissions)
        for line in [*notes, *export_similarity(args.submissions, args.out, chosen)]:
            print(clean(line))
        return DONE
    if args.kind == "feedback":
        from autograder.classroom.feedback_export import export_feedback

        for line in export_feedback(args.results, args.platform, args.out, args.submissions):
            print(clean(line))
        return DONE
    if args.kind == "verdict":
        from autograder.classroom.verdict_export import export_verdict

        for line in export_verdict(args.results, args.out, args.format, args.audience):
            print(clean(line))
        return DONE
    from_course(args)
    grades = read_class(args.results)
    policy = read_policy(args.policy) if args.policy else policy_in_course(grades, args)
    times, unread = read_times(args, grades, policy)
    source = args.gradebook if args.kind == "canvas" else args.worksheet
    details = args.out.with_name(f"{args.out.stem}-details.csv")
    check_output(args.out, details, [source, args.times, args.policy, args.results / "grades.csv"])
    sheet = Sheet.read(source)
    if args.kind == "canvas":
        way = args.match or best_way(sheet, args.column, [*grades.points, *grades.ungraded])
        roster = canvas_roster(sheet, args.column, way)
    else:
        roster = moodle_roster(sheet, args.match or "id", policy.late.zone if policy.late else None)
    if policy.late and not times and not roster.times:
        raise UserError(
            "there is a deadline: say when work was handed in, with --submissions (nbgrader's timestamp.txt) or "
            "--times, or once in course.toml; the dates of Moodle's worksheet count if there is a timezone"
        )
    lines = fill(roster, grades, policy, times)
    formulas = risky_cells(roster)
    if args.kind == "canvas" and args.match is None and way != WAYS[0]:
        formulas.append(f"students are matched by {way}, which fits most of them; --match chooses another way")
    if args.kind == "canvas" and args.only:
        only_column(roster)
    write_whole(args.out, sheet.data())
    write_whole(details, details_csv(lines, policy))
    print_summary(
        args.out, details, lines, [*grades.notes, *unread, *unknown_names(policy, times, grades, roster), *formulas]
    )
    return DONE if all(line.status in (EXPORTED, NO_SUBMISSION) for line in lines) else NOT_ALL


def read_times(args: argparse.Namespace, grades: ClassGrades, policy: Policy) -> tuple[dict[str, datetime], list[str]]:
    """Return the submission times by normal name, and notes on unreadable ones; --times overrides the timestamps."""
    if policy.late is None:
        return {}, []
    return hand_in_times(assignment(grades.assignment), policy.late.zone, args.times, args.submissions)


def from_course(args: argparse.Namespace) -> None:
    """Fill in what course.toml says and no option does: the results of an assignment, its column, times, the match."""
    config = config_or_empty()
    if not args.results.exists() and str(args.results) in assignments():
        args.results = config.graded(str(args.results))
    plan = config.plan_of(assignment_in(args.results))
    args.times, args.submissions = args.times or plan.times, args.submissions or plan.submissions
    args.match = args.match or config.match or None
    if hasattr(args, "column"):
        args.column = args.column or plan.column
        if not args.column:
            raise UserError(
                'say which column is that of the assignment: --column, or column = "..." in the course.toml'
            )


def policy_in_course(grades: ClassGrades, args: argparse.Namespace) -> Policy:
    """Return the policy of course.toml, with the slip days that students have left for this assignment."""
    config = config_or_empty()
    policy = policy_of_course(config, grades.assignment)
    if not config.slip_days or policy.late is None:
        return policy
    people = read_people(config.roster, config.match)
    term = []
    for name in {**config.planned, grades.assignment: None}:
        other = policy_of_course(config, name)
        if other.late and other.late.deadline <= policy.late.deadline:
            plan = config.plan_of(name)
            own = name == grades.assignment
            given = (args.times, args.submissions) if own else (plan.times, plan.submissions)
            term.append(assessed_in(people, name, other, hand_in_times(assignment(name), other.late.zone, *given)[0]))
    slips = slip_days(term, config.slip_days, config.slip_days_each)[grades.assignment]
    return replace(policy, slips={normal(one): slips.get(normal(people.name(one)), 0) for one in grades.points})


def check_output(out: Path, details: Path, sources: Sequence[Path | None]) -> None:
    """Check before any work that the results can be written, without overwriting an input file."""
    if not out.absolute().parent.is_dir():
        raise UserError(f"there is no folder {out.absolute().parent} for {out.name}")
    for path in (out, details):
        if path.is_dir():
            raise UserError(f"{path} is a folder; --out takes the name of a file")
        if any(source and source.resolve() == path.resolve() for source in sources):
            raise UserError(f"{path} is read here: choose another name for --out, so that nothing is lost")


def risky_cells(roster: Roster) -> list[str]:
    """Warn if a spreadsheet would run cells of the roster as formulas. Changing them would break the import."""
    cells = (cell for cells in roster.sheet.rows for cell in cells)
    risky = [cell for cell in cells if harmless(cell) != cell and cell.strip("+-.,0123456789 ")]
    if not risky:
        return []
    warning = (
        f"{len(risky)} cells that came with the gradebook begin as a formula does (the first: {risky[0]!r}) and stay "
        "as they are, for the import compares them: look at the details in a spreadsheet, not at the file to import"
    )
    return [warning]


def unknown_names(policy: Policy, times: dict[str, datetime], grades: ClassGrades, roster: Roster) -> list[str]:
    """Note extensions and times that belong to nobody, since they are often misspelt."""
    rows = (*roster.keys.values(), *roster.names.values(), *roster.numbers.values())
    known = {normal(name) for name in (*grades.points, *grades.ungraded, *rows)}
    extended = sorted(set(policy.late.extensions) - known) if policy.late else []
    notes = [f"the policy has an extension for {name!r}, but no submission has that name" for name in extended]
    return notes + [
        f"there is a time for {name!r}, but no submission has that name" for name in sorted(set(times) - known)
    ]


def details_csv(lines: list[Line], policy: Policy) -> bytes:
    """Return a table that explains each student's grade, one row per student; safe to open in a spreadsheet."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(DETAILS)
    for line in lines:
        row: list[str] = [line.student, line.row, line.status, line.why]
        if grade := line.grade:
            points = grade.points
            row += [number(value) for value in (points.required, points.extra, grade.counted, points.full)]
            late = policy.late
            row += [shown(when, late.zone) for when in (grade.handed_in, grade.due) if when] if late else ["", ""]
            row += [number(value) for value in (grade.days_late, grade.percent, grade.penalty)]
            row += [str(grade.final), grade.explanation]
        writer.writerow([harmless(cell) for cell in row + [""] * (len(DETAILS) - len(row))])
    # The byte order mark lets spreadsheets recognise UTF-8.
    return text.getvalue().encode("utf-8-sig", errors="replace")


def print_summary(out: Path, details: Path, lines: list[Line], notes: list[str]) -> None:
    """Print which students are in the file, and why the others are not."""
    exported = [line for line in lines if line.status == EXPORTED]
    print(f"{len(exported)} grades are in {out}; {details} explains them.")
    for status, heading in HEADINGS.items():
        listed = [line for line in lines if line.status == status]
        if listed:
            print(f"{len(listed)} {heading}:")
        for line in listed:
            name = " = ".join(name for name in (line.student, line.row) if name)
            print(clean(f"  {name}: {line.why}" if line.why else f"  {name}"))
    for note in [*(f"{line.student}: {line.why}" for line in exported if line.why), *notes]:
        print(clean(f"Note: {note}."))


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    return run_command(lambda: run(args))
