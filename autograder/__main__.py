"""The command line: `python grade.py [stage ...]` or `python -m autograder`, and commands for instructors."""

import sys

from course.startup import begin

if __name__ == "__main__":
    begin()  # before importing anything that needs a package or a newer Python

import argparse
import contextlib
import gc
import importlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from autograder.manifest import Assignment, assignments, broken, work_on
from autograder.sandbox.confine import unsupported
from autograder.submissions.which_assignment import which_assignment
from course.errors import UserError, run_command
from course.location import ENGINE, choose, course_folder, refuse_planted

if TYPE_CHECKING:
    from autograder.reports.verdict import Verdict

# Python exits with 1 after an exception, so no verdict uses 1: a failed start must not look like a verdict.
COMPLETE, USAGE, FAULT, INCOMPLETE = 0, 2, 3, 4
STUDENTS, CLASS, GRADEBOOKS, AUTHORS = "students", "a class", "gradebooks and platforms", "authors"
GRADE = "grade"  # the command of this module
# Modules with their own main(): who they are for, and what they do.
COMMANDS = {
    GRADE: ("autograder.__main__", STUDENTS, "grade your modules, like python grade.py; stages may follow"),
    "doctor": ("autograder.grading.check_machine", STUDENTS, "what this machine can grade, and what is missing"),
    "batch": ("autograder.classroom.batch", CLASS, "grade all submissions of a class"),
    "compare": ("autograder.classroom.compare", CLASS, "who gains or loses points between two runs of batch"),
    "questions": ("autograder.questions.command", CLASS, "ask students about the code that they handed in"),
    "review": ("autograder.classroom.review", CLASS, "edit points, comments and answers in the browser"),
    "term": ("autograder.classroom.term", CLASS, "all assignments side by side, and the final grades"),
    "export": ("autograder.classroom.export", GRADEBOOKS, "grades for Canvas, Moodle and others, feedback, verdicts"),
    "pack": ("autograder.authoring.packing.pack", GRADEBOOKS, "an autograder for Gradescope, PrairieLearn, ..."),
    "gradescope": ("autograder.authoring.packing.gradescope_archive", GRADEBOOKS, "the same as pack --for gradescope"),
    "init": ("autograder.authoring.init", AUTHORS, "a folder for a course of your own"),
    "new": ("autograder.authoring.new", AUTHORS, "a small working assignment to edit"),
    "build": ("autograder.authoring.build", AUTHORS, "regenerate all generated files, and list the changes"),
    "audit": (
        "autograder.authoring.audit.command",
        AUTHORS,
        "check everything that must hold for an assignment",
    ),
    "handout": ("autograder.authoring.packing.handout", AUTHORS, "the archive that students get"),
    "site": ("autograder.authoring.site.command", AUTHORS, "the course as a static site"),
    "expected": (
        "autograder.authoring.stored_tensors",
        AUTHORS,
        "part of build: tensors that visible tests expect",
    ),
    "release": ("autograder.authoring.release", AUTHORS, "part of build: notebooks and stubs, from the solutions"),
    "tolerance": ("autograder.authoring.audit.tolerance_table", AUTHORS, "by how much results of correct code differ"),
}


def here() -> dict[str, tuple[str, str, str]]:
    """The commands available in this installation; students have only a few of them."""
    return {name: one for name, one in COMMANDS.items() if (ENGINE / f"{one[0].replace('.', '/')}.py").is_file()}


def all_commands() -> str:
    """A list of the commands in groups, with one command per line."""
    lines = []
    for group in (STUDENTS, CLASS, GRADEBOOKS, AUTHORS):
        own = [f"  {name:<12}{words}" for name, (_, of, words) in here().items() if of == group]
        lines += [f"\nfor {group}:", *own] if own else []
    first = "commands, each with its own --help (python -m autograder COMMAND [--course DIR] ...):"
    return "\n".join([first, *lines])


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="grade.py",
        description="Grade the modules in a submission.",
        epilog="exit status: 0 all required points, 4 not all, 2 wrong usage; 3 or any other: the grader itself failed"
        f"\n\n{all_commands()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("stage", nargs="*", help="stages to grade (default: all)")
    parser.add_argument(
        "--submission",
        type=Path,
        metavar="DIR",
        help="folder or zip file with the modules (default: this folder or notebooks/NAME)",
    )
    parser.add_argument("--assignment", metavar="NAME", help="assignment (default: the one that fits, else the first)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write Gradescope's results.json as well")
    parser.add_argument(
        "--zip",
        type=Path,
        nargs="?",
        const=Path(),
        metavar="FILE",
        help="also pack the modules for handing in (NAME.zip)",
    )
    parser.add_argument(
        "--summary", type=Path, metavar="FILE", help="append the verdict to a file, as a Markdown table"
    )
    parser.add_argument(
        "--verdict",
        type=Path,
        metavar="FILE",
        help="write the verdict as data: FILE.json (verdict/1), .xml (JUnit) or .sarif",
    )
    parser.add_argument(
        "--problems", action="store_true", help="print lines for an editor instead: file:line: severity: message"
    )
    parser.add_argument("--watch", action="store_true", help="grade again whenever a module is saved; Ctrl-C stops")
    parser.add_argument("--verbose", action="store_true", help="show more about each test, and what your code prints")
    instructors = parser.add_argument_group("for instructors")
    instructors.add_argument("--hidden", action="store_true", help="run the hidden tests too (needs solutions/)")
    instructors.add_argument("--seed", type=int, metavar="N", help="seed of the hidden tests (a new one each time)")
    instructors.add_argument("--unconfined", action="store_true", help="run other people's modules without confinement")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace) -> int:
    # The workers get ready while this process does its own imports.
    from autograder.sandbox.worker_processes import make_workers

    refuse_unknown(args.stage)
    work_on(args.assignment or (args.submission.resolve().name if args.submission else None))
    chosen = which_assignment(args.assignment, args.submission, Path.cwd() if Path.cwd() != course_folder() else None)
    check_words(args.stage, chosen)
    stages = [chosen.stage(name) for name in dict.fromkeys(args.stage)] or None
    if args.watch:
        from autograder.reports.watch import watch

        if args.hidden or args.json or args.zip or args.verdict:
            raise UserError("--watch is for your own modules: use it without --hidden, --json, --verdict and --zip")
        return watch(args.submission or own_folder(chosen), chosen, stages, args.verbose, args.problems)
    seed = hidden_seed(args, chosen)
    folder = args.submission or own_folder(chosen)
    if args.hidden:
        refuse_planted(folder)
    check_writable(args.json)
    archive = Path(f"{chosen.name}.zip") if args.zip == Path() else args.zip
    check_writable(archive, "--zip")
    check_writable(args.summary, "--summary")
    check_writable(args.verdict, "--verdict")
    if archive and archive.suffix.lower() != ".zip":
        raise UserError(f"{archive} is not the name of a zip file; name stages before --zip")
    gradescope = part("autograder.reports.gradescope_results", "--json") if args.json else None
    as_format = format_of(args.verdict) if args.verdict else None
    if not folder.is_dir() and folder.suffix.lower() != ".zip":
        raise UserError(f"there is no folder {folder}")
    confined = args.hidden and not args.unconfined
    workers = make_workers(plain="AUTOGRADER_PLAIN" in os.environ, confined=confined)
    try:
        from rich.console import Console
        from rich.text import Text

        from autograder.grading.grade_submission import grade
        from autograder.grading.results import StageResult
        from autograder.reports.console import clean, print_next, print_stage, print_total
        from autograder.reports.problems import annotations, commands_ignored, diagnostics, on_github, problem_lines
        from autograder.reports.verdict import as_text, verdict, write_text
        from autograder.sandbox.limits import SUBMISSION_SECONDS
        from autograder.sandbox.submission_clock import Clock
        from autograder.submissions.read_submission import read_submission

        submission = read_submission(folder, chosen)
        console = Console(highlight=False, emoji=False, markup=False, quiet=args.problems)
        with commands_ignored():
            console.print(Text(clean(f"{chosen.title}: {submission.name}"), style="bold"))

            def shown(stage: StageResult) -> None:
                print_stage(console, stage, args.verbose)

            report = grade(
                submission,
                chosen,
                workers,
                stages,
                on_stage=shown,
                hidden_seed=seed,
                clock=Clock(SUBMISSION_SECONDS) if args.hidden else None,  # students' own runs have no limit
                jobs=min(2, os.cpu_count() or 1),
            )
            print_total(console, report)
            print_next(console, report, chosen.stages)
        found = verdict(report, chosen, sources=submission.sources)
        if args.problems or on_github():
            start = Path(os.environ.get("GITHUB_WORKSPACE", "")) if on_github() else Path()
            placed = diagnostics(found, folder if folder.is_dir() else Path(), start)
            for line in [
                *(problem_lines(placed) if args.problems else []),
                *(annotations(placed) if on_github() else []),
            ]:
                print(line)
        if args.problems:
            print(found["summary"])
        if archive:
            from autograder.submissions.pack import pack

            console.print(Text(pack(submission, chosen, archive), style="bold"))
        if args.assignment is None and args.submission is None and len(assignments()) + len(broken()) > 1:
            from autograder.grading.other_assignments import others

            console.print(Text(others(chosen)))
    finally:
        workers.close()
    if gradescope:
        write_text(as_text(gradescope.results(found, report.hidden_seed)), args.json)
    if as_format:
        write_text(as_format(found), args.verdict)
    if args.summary:
        from autograder.reports.markdown_summary import write_summary

        write_summary(found, args.summary)
    return FAULT if report.faulty else COMPLETE if report.complete else INCOMPLETE


def refuse_unknown(words: list[str]) -> None:
    """Reject a misspelt command, even if there is no course.

    Raises:
        UserError: if the first word resembles a command but is not a stage.
    """
    from difflib import get_close_matches

    with contextlib.suppress(UserError):
        known = {stage.name for assignment in assignments().values() for stage in assignment.stages}
        if words and words[0] in known:
            return
    if words and (near := get_close_matches(words[0], here(), 1, 0.75)):
        raise UserError(f"there is no command {words[0]!r}: did you mean {near[0]}? See python -m autograder --help")


def check_words(words: list[str], chosen: Assignment) -> None:
    """Reject a word that is neither a stage nor a command, and suggest a similar word.

    Raises:
        UserError: if there is such a word.
    """
    from difflib import get_close_matches

    stages = [stage.name for stage in chosen.stages]
    for word in words:
        for other in assignments().values() if word not in stages else ():
            if word in [stage.name for stage in other.stages]:
                raise UserError(f"{word} is a stage of {other.name}: add --assignment {other.name}")
        if word not in stages:
            near = get_close_matches(word, [*stages, *here()], 1)
            guess = f": did you mean {near[0]}?" if near else "; python -m autograder --help lists the commands"
            raise UserError(f"there is no stage or command {word!r}{guess} (the stages are {', '.join(stages)})")


def own_folder(chosen: Assignment) -> Path:
    """The folder to grade by default: the current folder if it contains modules, otherwise the course's folder.

    On a shared server, students work in their own folders, and the course is elsewhere.
    """
    here = Path.cwd()
    in_it = any((here / f"{module}.py").is_file() for module in chosen.modules)
    return here if in_it else chosen.released


def hidden_seed(args: argparse.Namespace, chosen: Assignment) -> int | None:
    """The seed of the hidden tests, or None if they are not requested.

    Raises:
        UserError: if they cannot be run.
    """
    if not args.hidden:
        if args.seed is not None:
            raise UserError("--seed is for the hidden tests: add --hidden")
        return None
    if not chosen.solution.is_dir():
        raise UserError("the hidden tests need the reference modules in solutions/, which are not here")
    if not args.unconfined and (reason := unsupported()):
        raise UserError(
            f"the hidden tests would run other people's code without confinement: {reason}. "
            "Grade on a Linux machine that can confine it (see python -m autograder doctor), "
            "or use --unconfined if you trust the submission"
        )
    if args.seed is not None and args.seed < 0:
        raise UserError(f"the seed must not be negative: {args.seed}")
    return args.seed if args.seed is not None else secrets.randbits(63)


def check_writable(path: Path | None, option: str = "--json") -> None:
    """Check that the result can be written, before any work begins.

    Raises:
        UserError: if it cannot.
    """
    if path is None:
        return
    if path.is_dir():
        raise UserError(f"{path} is a folder; {option} takes the name of a file")
    if not path.absolute().parent.is_dir():
        raise UserError(f"there is no folder {path.absolute().parent} for {path.name}")


def format_of(path: Path) -> Callable[["Verdict"], str]:
    """Return the function that writes a verdict in the format implied by a file's name.

    Raises:
        UserError: if the file extension is unknown.
    """
    from autograder.reports.verdict import as_text

    formats: dict[str, Callable[[Verdict], str]] = {
        ".json": as_text,
        ".xml": lambda found: part("autograder.reports.junit_xml", "JUnit XML").junit(found),
        ".sarif": lambda found: as_text(part("autograder.reports.sarif", "SARIF").sarif(found)),
    }
    if (suffix := path.suffix.lower()) not in formats:
        raise UserError(f"{path} must end in .json (verdict/1), .xml (JUnit) or .sarif")
    return formats[suffix]


def part(module: str, what: str) -> ModuleType:
    """Import a module that students do not have, and return it.

    Raises:
        UserError: if it is not here; the message says that `what` is for instructors.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # it is here, but something that it imports is not
        raise UserError(f"{what} is for instructors, and not part of the students' version of the course") from error


def of_this_course(arguments: list[str]) -> list[str]:
    """Remove `--course DIR` from the arguments of any command, and select that course.

    If `--course` comes after the command and its value is not a folder, the option is left for the command. For
    `export --push`, the value is a course number.

    Raises:
        UserError: if the folder is not a course.
    """
    for place, word in enumerate(arguments):
        option, _, value = word.partition("=")
        after = place + (1 if value else 2)
        value = value or "".join(arguments[place + 1 : after])
        if option == "--course" and (place == 0 or Path(value).is_dir()):
            choose(value)
            course_folder()
            return [*arguments[:place], *arguments[after:]]
    return arguments


def main(arguments: list[str] | None = None) -> int:
    gc.set_threshold(100_000)  # the default would keep scanning many objects for few cycles
    return run_command(lambda: command(of_this_course(sys.argv[1:] if arguments is None else arguments)))


def command(arguments: list[str]) -> int:
    """Run the command named by the first word; if there is no command, grade."""
    name, *rest = arguments or [""]
    if name in COMMANDS and name != GRADE:
        return int(part(COMMANDS[name][0], name).main(rest))
    return run(parse_arguments(rest if name == GRADE else arguments))


if __name__ == "__main__":
    if len(sys.argv) == 1:  # python grade.py and autograde grade
        print(f"usage: python -m autograder COMMAND ...\n\n{all_commands()}")
        sys.exit(COMPLETE)
    sys.exit(main())
