"""`python -m autograder export KIND`: grades for gradebooks, and feedback, verdicts and modules for other programs."""

import argparse
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from autograder.gradebooks.canvas import WAYS, best_way, canvas_roster
from autograder.gradebooks.class_grades import ClassGrades, assignment_in, read_class
from autograder.gradebooks.final_grades import assessed_in, slip_days
from autograder.gradebooks.grading_policy import Policy, number, shown, unknown_names
from autograder.gradebooks.groups import read_groups
from autograder.gradebooks.hand_in_times import hand_in_times
from autograder.gradebooks.match_students import normal
from autograder.gradebooks.moodle import moodle_roster
from autograder.gradebooks.other_gradebooks import blackboard_roster, brightspace_roster, csv_roster, new_sheet
from autograder.gradebooks.people import read_people
from autograder.gradebooks.policy_file import policy_of_course, read_policy
from autograder.gradebooks.roster import EXPORTED, KEPT, NO_ROW, NO_SUBMISSION, UNGRADED, Line, Roster, fill
from autograder.manifest import assignment, graded_folder
from autograder.manifest.course_config import check_plan, config_or_empty
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
        epilog="exit status: 0 all graded students are in the file, 1 some are missing (listed), 2 wrong usage",
    )
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    canvas = kinds.add_parser("canvas", help="fill the gradebook file that Canvas exported; --push sends the grades")
    moodle = kinds.add_parser("moodle", help="fill Moodle's grading worksheet; --push sends the grades")
    brightspace = kinds.add_parser("brightspace", help="fill the gradebook file that Brightspace exported")
    blackboard = kinds.add_parser("blackboard", help="fill the gradebook file that Blackboard exported")
    any_csv = kinds.add_parser("csv", help="fill a column of any CSV file, or write a new one")
    feedback = kinds.add_parser("feedback", help="pack the students' pages for upload to Moodle or Canvas, or for mail")
    feedback.add_argument("results", type=Path, metavar="RESULTS", help="folder written by batch, or an assignment")
    feedback.add_argument("--for", dest="platform", choices=FEEDBACK_FOR, required=True, help="how the pages are named")
    feedback.add_argument("--out", type=Path, required=True, metavar="FILE", help="zip file to write")
    feedback.add_argument("--submissions", type=Path, metavar="DIR", help="Canvas download, for its file names")
    verdicts = kinds.add_parser("verdict", help="the verdicts as data: verdict/1, JUnit XML, SARIF, Markdown")
    verdicts.add_argument("results", type=Path, metavar="RESULTS", help="folder written by batch, or an assignment")
    verdicts.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for one file per student")
    verdicts.add_argument(
        "--format", choices=("json", "junit", "sarif", "markdown", "gradescope"), default="json", help="(%(default)s)"
    )
    verdicts.add_argument("--audience", choices=("student", "staff"), default="student", help="(%(default)s)")
    similarity = kinds.add_parser("similarity", help="lay out the modules for JPlag and Dolos")
    for kind in (canvas, moodle, brightspace, blackboard, any_csv):
        kind.add_argument("results", type=Path, metavar="RESULTS", help="folder written by batch, or an assignment")
        kind.add_argument("--out", type=Path, metavar="FILE", help="the file to import")
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
    for kind in (canvas, brightspace, blackboard, any_csv):
        kind.add_argument("--gradebook", type=Path, metavar="FILE", help="the gradebook file that was exported")
        kind.add_argument("--column", help="column of the assignment: its header, or the name or number in the header")
    for kind in (canvas, brightspace, blackboard):
        kind.add_argument("--only", action="store_true", help="drop the columns of all other assignments")
    moodle.add_argument("--worksheet", type=Path, metavar="FILE", help="worksheet exported from Moodle")
    for kind, ways in {
        canvas: "login, id, name, sis, email or a header (default: the best match of login, id and name)",
        moodle: "id (default), email, name or a header",
        brightspace: "login (Username, default), id (OrgDefinedId), email or a header",
        blackboard: "login (Username, default), id (Student ID) or a header",
        any_csv: "header of the column that submissions are named after (default: student)",
    }.items():
        kind.add_argument("--match", metavar="BY", help=ways)
    for kind, token in {canvas: "CANVAS_TOKEN", moodle: "MOODLE_TOKEN"}.items():
        push = kind.add_argument_group(f"over the network, with a token in the environment variable {token}")
        push.add_argument("--push", action="store_true", help="show what would be sent; needs no gradebook file")
        push.add_argument("--send", action="store_true", help="send it")
        push.add_argument("--url", help="address of the platform: https://...")
        push.add_argument("--course", metavar="ID", help="number of the course in the address of its page")
        push.add_argument("--assignment", metavar="ID", help="number of the assignment in the address of its page")
    similarity.add_argument("submissions", type=Path, metavar="SUBMISSIONS", help="folder or zip file, as for batch")
    similarity.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    similarity.add_argument("--assignment", metavar="NAME", help="default: the assignment of most submissions")
    similarity.add_argument("--groups", type=Path, metavar="FILE", help="CSV: group, student; members are not compared")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace) -> int:
    if args.kind == "similarity":
        from autograder.classroom.similarity_export import export_similarity

        chosen, notes = assignment_of_class(args.assignment, args.submissions)
        groups = read_groups(path) if (path := args.groups or config_or_empty().groups) else None
        for line in [*notes, *export_similarity(args.submissions, args.out, chosen, groups)]:
            print(clean(line))
        return DONE
    args.results = graded_folder(args.results)
    if args.kind == "feedback":
        from autograder.classroom.feedback_export import export_feedback

        said, complete = export_feedback(args.results, args.platform, args.out, args.submissions)
        for line in said:
            print(clean(line))
        return DONE if complete else NOT_ALL
    if args.kind == "verdict":
        from autograder.classroom.verdict_export import export_verdict

        for line in export_verdict(args.results, args.out, args.format, args.audience):
            print(clean(line))
        return DONE
    from_course(args)
    check_options(args)
    grades = read_class(args.results)
    policy = read_policy(args.policy) if args.policy else policy_in_course(grades, args)
    times, unread = read_times(args, grades, policy)
    if getattr(args, "push", False):
        return push_grades(args, grades, policy, times, unread)
    source = args.worksheet if args.kind == "moodle" else args.gradebook
    details = args.out.with_name(f"{args.out.stem}-details.csv")
    check_output(args.out, details, [source, args.times, args.policy, args.results / "grades.csv"])
    sheet = Sheet.read(source) if source else new_sheet(args.out, grades)
    roster, notes = roster_of(args, sheet, grades, policy)
    if policy.late and not times and not roster.times:
        raise UserError(
            "there is a deadline: say when work was handed in, with --submissions (nbgrader's timestamp.txt) or "
            "--times, or in course.toml; the dates in Moodle's worksheet count if there is a timezone"
        )
    lines, known = fill(roster, grades, policy, times), known_names(grades, roster)
    formulas = [*risky_cells(roster), *notes]
    if getattr(args, "only", False):
        roster.only_column()
    write_whole(args.out, sheet.data())
    write_whole(details, details_csv(lines, policy))
    print_summary(args.out, details, lines, [*grades.notes, *unread, *unknown_names(policy, times, known), *formulas])
    return DONE if all(line.status in (EXPORTED, NO_SUBMISSION) for line in lines) else NOT_ALL


def check_options(args: argparse.Namespace) -> None:
    """Check that all options required for this kind of export are given.

    Raises:
        UserError: if one is missing.
    """
    if push := getattr(args, "push", False):
        needed = ["url", "course", "assignment"]
    elif getattr(args, "send", False):
        raise UserError("--send sends the changes that --push shows: use both")
    else:
        gradebook = {"moodle": ["worksheet"], "csv": []}.get(args.kind, ["gradebook", "column"])
        needed = [*gradebook, "out", *(["column"] if args.kind == "csv" and args.gradebook else [])]
    if missing := [f"--{name}" for name in needed if getattr(args, name) is None]:
        raise UserError(f"export {args.kind}{' --push' * push} needs {', '.join(missing)}")


def roster_of(args: argparse.Namespace, sheet: Sheet, grades: ClassGrades, policy: Policy) -> tuple[Roster, list[str]]:
    """Return the roster from a gradebook file, and notes for the instructor.

    Raises:
        UserError: if the file is not of this kind.
    """
    if args.kind == "moodle":
        return moodle_roster(sheet, args.match or "id", policy.late.zone if policy.late else None), []
    if args.kind == "brightspace":
        capped = "Brightspace cuts grades above the maximum unless the grade item has Can Exceed"
        return brightspace_roster(sheet, args.column, args.match or "login"), [] if policy.capped else [capped]
    if args.kind == "blackboard":
        return blackboard_roster(sheet, args.column, args.match or "login"), []
    if args.kind == "csv":
        return csv_roster(sheet, args.column or "grade", args.match or "student"), []
    way = args.match or best_way(sheet, args.column, [*grades.points, *grades.ungraded])
    chosen = args.match is None and way != WAYS[0]
    note = f"students are matched by {way}, which fits most of them; --match chooses another way"
    return canvas_roster(sheet, args.column, way), [note] if chosen else []


def push_grades(
    args: argparse.Namespace, grades: ClassGrades, policy: Policy, times: dict[str, datetime], unread: list[str]
) -> int:
    """Show what would be sent to Canvas or Moodle, and send it if requested.

    Raises:
        UserError: if the platform refuses.
    """
    from autograder.gradebooks.canvas_service import CanvasAssignment
    from autograder.gradebooks.moodle_service import MoodleAssignment
    from autograder.gradebooks.push import Platform, plan, send

    kind = CanvasAssignment if args.kind == "canvas" else MoodleAssignment
    platform: Platform = kind(args.url, args.course, args.assignment)
    planned = plan(platform, grades, policy, times, args.match)
    details = args.out or args.results / f"{args.kind}-push.csv"
    write_whole(details, details_csv(planned.lines, policy))
    for change in planned.changes:
        print(clean(f"  {change}"))
    there = f"already there: {planned.same}"
    print(clean(f"Grades to send to {platform.title}: {len(planned.changes)}; {there}."))
    missing = send(platform, planned.changes, lambda said: print(clean(said))) if args.send else []
    for change in missing:
        print(clean(f"  not accepted: {change}"))
    known = known_names(grades, planned.roster)
    notes = [*grades.notes, *unread, *unknown_names(policy, times, known), *platform.notes]
    print_rest(planned.lines, notes)
    print(f"{details} explains the grades." + " Nothing was sent: add --send." * (not args.send))
    whole = all(line.status in (EXPORTED, NO_SUBMISSION) for line in planned.lines)
    return DONE if whole and not missing else NOT_ALL


def read_times(args: argparse.Namespace, grades: ClassGrades, policy: Policy) -> tuple[dict[str, datetime], list[str]]:
    """Return submission times by normalised name, and notes on unreadable times; --times takes precedence."""
    if policy.late is None:
        return {}, []
    return hand_in_times(assignment(grades.assignment), policy.late.zone, args.times, args.submissions)


def from_course(args: argparse.Namespace) -> None:
    """Use course.toml for settings that no option overrides: the assignment's column, times and match."""
    config = config_or_empty()
    check_plan(config)
    plan = config.plan_of(assignment_in(args.results))
    args.times, args.submissions = args.times or plan.times, args.submissions or plan.submissions
    if args.kind == "csv" and args.gradebook is None:
        return  # a new file has its own columns
    args.match = args.match or config.match or None
    if hasattr(args, "column"):
        args.column = args.column or plan.column or None
    if getattr(args, "push", False):
        number_in_column = re.search(r"(\d+)\)?$", plan.column)
        args.assignment = args.assignment or (number_in_column and number_in_column[1])
        if config.lms and config.lms.kind == args.kind:
            args.url, args.course = args.url or config.lms.url, args.course or config.lms.course


def policy_in_course(grades: ClassGrades, args: argparse.Namespace) -> Policy:
    """Return the policy set in course.toml, with the slip days that students have left for this assignment."""
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
            times, _ = hand_in_times(assignment(name), other.late.zone, *given)
            others = read_class(config.graded(name)) if not own and config.graded(name).is_dir() else grades
            term.append(assessed_in(people, name, other, times, others))
    slips = slip_days(term, config.slip_days, config.slip_days_each)[grades.assignment]
    called = people.called([*grades.points, *grades.ungraded])
    return replace(policy, slips={normal(one): slips.get(normal(name), 0) for one, name in called.items()})


def check_output(out: Path, details: Path, sources: Sequence[Path | None]) -> None:
    """Before any work begins, check that the results can be written without overwriting an input file."""
    if not out.absolute().parent.is_dir():
        raise UserError(f"there is no folder {out.absolute().parent} for {out.name}")
    for path in (out, details):
        if path.is_dir():
            raise UserError(f"{path} is a folder; --out takes a file name")
        if any(source and source.resolve() == path.resolve() for source in sources):
            raise UserError(f"{path} is an input: choose another name for --out, so that nothing is lost")


def risky_cells(roster: Roster) -> list[str]:
    """Warn if a spreadsheet would treat cells of a roster as formulas; changing these cells would break the import."""
    cells = (cell for cells in roster.sheet.rows for cell in cells)
    risky = [cell for cell in cells if harmless(cell) != cell and cell.strip("+-.,0123456789 ")]
    if not risky:
        return []
    warning = (
        f"{len(risky)} cells of the gradebook begin like a formula (the first: {risky[0]!r}). They stay unchanged, "
        "because the import compares them: open the details in a spreadsheet, not the file to import"
    )
    return [warning]


def known_names(grades: ClassGrades, roster: Roster) -> list[str]:
    """Return all names of students and submissions."""
    rows = (*roster.keys.values(), *roster.names.values(), *roster.numbers.values())
    return [*grades.points, *grades.ungraded, *grades.submissions.values(), *rows]


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
    """Print the number of exported grades, the students who have none, and the reasons."""
    exported = [line for line in lines if line.status == EXPORTED]
    print(f"{len(exported)} grades are in {out}; {details} explains them.")
    print_rest(lines, [*(f"{line.student}: {line.why}" for line in exported if line.why), *notes])


def print_rest(lines: list[Line], notes: list[str]) -> None:
    """Print the students without a grade in the gradebook, and the notes."""
    for status, heading in HEADINGS.items():
        listed = [line for line in lines if line.status == status]
        if listed:
            print(f"{len(listed)} {heading}:")
        for line in listed:
            name = " = ".join(name for name in (line.student, line.row) if name)
            print(clean(f"  {name}: {line.why}" if line.why else f"  {name}"))
    for note in notes:
        print(clean(f"Note: {note}."))


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    return run_command(lambda: run(args))
