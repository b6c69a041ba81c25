"""Grade a class: `python -m autograder batch SUBMISSIONS --out DIR`, on one machine or on a Dask cluster.

Each result is saved immediately, so a run can be stopped at any time and in any way. The same command then continues
the run: it grades only new and changed submissions.
"""

import argparse
import contextlib
import os
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from autograder.classroom.hidden_seed import seed_of_class
from autograder.classroom.job_processes import Outcome, Queue, Settings, grade_here
from autograder.classroom.left_out import LeftOut
from autograder.classroom.saved_results import Records, grader_hash
from autograder.gradebooks.groups import NOTHING, Member
from autograder.gradebooks.people import read_people
from autograder.manifest import Assignment
from autograder.manifest.course_config import check_plan, course_config
from autograder.reports.console import clean, listed
from autograder.reports.regrade_requests import read_requests, still_open
from autograder.reports.review_file import changing
from autograder.sandbox.limits import SUBMISSION_SECONDS
from autograder.submissions.find_submissions import Found, Intake, take_in
from autograder.submissions.read_submission import Submission
from autograder.submissions.which_assignment import assignment_of_class
from course.errors import UserError, run_command
from course.location import refuse_planted

DONE, FAULT, STOPPED = 0, 3, 130
LINE_SECONDS = 10.0


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m autograder batch",
        description="Grade all submissions of a class with the visible and the hidden tests.",
        epilog="exit status: 0 all graded, 2 wrong usage, 3 the grader failed on a submission, 130 stopped",
    )
    parser.add_argument("submissions", type=Path, metavar="SUBMISSIONS", help="folder or zip file of the submissions")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (default: graded/ASSIGNMENT)")
    parser.add_argument("--assignment", metavar="NAME", help="default: the assignment of most submissions")
    parser.add_argument("--jobs", type=int, metavar="N", help="submissions graded in parallel (default: one per CPU)")
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the hidden tests (default: random, kept in DIR)")
    parser.add_argument(
        "--seed-per-student", action="store_true", help="give each submission its own hidden inputs, from the seed"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=SUBMISSION_SECONDS,
        metavar="SECONDS",
        help="time limit for the code of one submission (default: %(default)g)",
    )
    parser.add_argument(
        "--regrade", type=Path, metavar="FILE", help="regrade only the students in this file, one name per line"
    )
    parser.add_argument(
        "--groups", type=Path, metavar="FILE", help="CSV with the columns group and student; kept in DIR for later runs"
    )
    parser.add_argument("--visible-only", action="store_true", help="skip the hidden tests")
    parser.add_argument("--unconfined", action="store_true", help="run the submissions without confinement")
    parser.add_argument(
        "--gradebook",
        nargs="?",
        const="",
        metavar="URL",
        help="also write the points into nbgrader's gradebook (default: the one in this folder's nbgrader_config.py)",
    )
    cluster = parser.add_argument_group("on a Dask cluster, instead of --jobs")
    cluster.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of the scheduler, for instance tcp://host:8786"
    )
    cluster.add_argument("--scheduler-file", type=Path, metavar="FILE", help="file written by the scheduler")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace) -> int:
    refuse_planted(args.submissions)
    chosen, notes = assignment_of_class(args.assignment, args.submissions)
    args.out = args.out or course_config().graded(chosen.name)
    check(args, chosen)
    intake = take_in(args.submissions, [chosen])
    for note in notes:
        print(note)
    records = Records(args.out)
    try:
        seed = seed_of_class(args.out, chosen, args.seed)
        settings = Settings(
            assignment=chosen.name,
            seed=None if args.visible_only else seed,
            time_limit=args.time_limit,
            confined=not args.unconfined,
            grader=grader_hash(chosen.name),
            per_student=args.seed_per_student,
        )
        return grade_class(intake, records, settings, chosen, args)
    except KeyboardInterrupt:
        print(f"Stopped. The results so far are in {args.out}; run the same command to continue.")
        return STOPPED
    finally:
        records.close()


def check(args: argparse.Namespace, chosen: Assignment) -> None:
    """Check the arguments before any work begins.

    Raises:
        UserError: if something would make the run fail.
    """
    if not args.visible_only and not chosen.solution.is_dir():
        raise UserError(
            "the hidden tests need the reference modules in solutions/, which are not here; --visible-only skips them"
        )
    if args.visible_only and args.seed is not None:
        raise UserError("--seed is for the hidden tests: leave out --visible-only")
    if args.jobs is not None and args.jobs < 1:
        raise UserError(f"--jobs must be 1 or more, not {args.jobs}")
    if not args.time_limit > 0:
        raise UserError(f"--time-limit must be more than 0 seconds, not {args.time_limit:g}")
    if args.seed is not None and args.seed < 0:
        raise UserError(f"the seed must not be negative: {args.seed}")
    if args.scheduler and args.scheduler_file:
        raise UserError("give --scheduler or --scheduler-file, not both")
    if on_cluster(args) and args.jobs is not None:
        raise UserError("on a cluster, the number of jobs depends on its workers: leave out --jobs")
    if args.out.resolve().is_relative_to(args.submissions.resolve()):
        raise UserError(f"{args.out} is among the submissions: choose a folder elsewhere for --out")
    config = course_config()
    check_plan(config)
    read_people(config.roster, config.match)
    if not args.unconfined and not on_cluster(args):
        check_confinement()
    if args.gradebook is not None:
        from autograder.gradebooks.nbgrader import opened, place_of

        with opened(place_of(args.gradebook), chosen):
            pass


def check_confinement() -> None:
    """Refuse to run untrusted code if this machine cannot confine it.

    Raises:
        UserError: if it cannot.
    """
    from autograder.sandbox.confine import unsupported

    if why := "AUTOGRADER_PLAIN requests plain workers" if "AUTOGRADER_PLAIN" in os.environ else unsupported():
        raise UserError(f"submissions cannot be confined here: {why}; give --unconfined if you trust them")


def on_cluster(args: argparse.Namespace) -> bool:
    return bool(args.scheduler or args.scheduler_file)


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def grade_class(
    intake: Intake, records: Records, settings: Settings, chosen: Assignment, args: argparse.Namespace
) -> int:
    """Grade the submissions that have no up-to-date grade, then write the reports on all submissions."""
    found, left_out = intake.found, LeftOut(intake)
    by_name = {one.student: one for one in found}
    earlier = records.students()
    left = sorted(earlier - by_name.keys())
    if earlier and earlier.isdisjoint(by_name):
        raise UserError(
            f"{args.out} has results of {listed(left)}, who are not in {args.submissions}: choose a different --out"
        )
    started, graded, faults = time.monotonic(), 0, {}
    fresh: set[str] = set()
    if (groups := args.groups or course_config().groups) and records.set_groups(groups):
        fresh |= by_name.keys()
    records.refuse_misfits(found)
    again = submissions_in(args.regrade, found, records.members(found)) if args.regrade else None
    if again is not None:
        refuse_mixture([one.student for one in found if one.student not in again and records.others(one, settings)])
    with Progress(len(found)) as progress:

        def changed() -> Iterator[Submission]:
            for one in found:
                submission = one.read()
                left_out.add(one.student, submission)
                if again is not None and one.student not in again:
                    progress.skip()
                    continue
                if again is None and records.is_current(one, submission.digest, settings):
                    progress.skip()
                else:
                    yield submission

        with contextlib.closing(outcomes(Queue(changed()), settings, args)) as known:
            for outcome in known:
                records.write(by_name[outcome.student], outcome, settings)
                graded += 1
                fresh.add(outcome.student)
                progress.advance()
                if outcome.fault:
                    faults[outcome.student] = outcome.fault
                    progress.say(f"the grader failed on {outcome.student}: {outcome.fault.splitlines()[-1]}")
    records.drop_renamed(found)
    records.write_pages(found, fresh)
    records.write_grades(found, chosen)
    records.write_report(found, str(left_out))
    left_out.write(args.out)
    place = write_gradebook(found, records, chosen, args.gradebook) if args.gradebook is not None else ""
    seconds = time.monotonic() - started
    rest = "had not changed" if again is None else "were not requested"
    print(f"Graded {graded} submissions in {seconds:.0f} s; {len(found) - graded} {rest}.")
    tests = "The visible tests only" if settings.seed is None else f"Visible and hidden tests, seed {settings.seed}"
    print(f"{tests}. Results are in {args.out}: grades.csv, report.html, feedback, verdicts.")
    if place:
        print(f"The points are in the gradebook {place}; the points from nbgrader autograde are replaced.")
    if not settings.confined:
        print("The submissions were not confined: a hostile one could have changed any grade.")
    print(clean(str(left_out)))
    if left:
        print(clean(f"Graded before, but no longer in {args.submissions} or in grades.csv: {listed(left)}."))
    print_end(found, records)
    print_absent(records.members(found))
    for line in groups_of(records.members(found), records.groups.named_after_groups(by_name)):
        print(clean(line))
    if asked := still_open(read_requests(args.out)):
        print(f"{counted(len(asked), 'regrade request')} without an answer: python -m autograder review {args.out}")
    if faults:
        number = counted(len(faults), "submission")
        print(f"The grader failed on {number}; this does not count against the students. Run batch again to retry:")
        for student, fault in sorted(faults.items()):
            print(f"  {student}: {fault.splitlines()[-1]}")
    return FAULT if faults else DONE


def submissions_in(file: Path, found: list[Found], members: list[Member]) -> set[str]:
    """Return the submissions of the students listed in a file; group members share the group's submission.

    Each line names a student. Empty lines and lines that begin with "#" are ignored.

    Raises:
        UserError: if it cannot be read, or names a student without a submission.
    """
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {file}: {error}") from error
    names = {line for line in lines if line and not line.startswith("#")}
    counts = {one.student: one.submission for one in members if one.submission}
    submissions = {submission.student for submission in found}
    if unknown := sorted(name for name in names if counts.get(name, name) not in submissions):
        raise UserError(f"{file} names {', '.join(unknown)}, but there is no such submission")
    return {counts.get(name, name) for name in names}


def refuse_mixture(students: list[str]) -> None:
    """Refuse to mix grades from different versions of the tests in one class, since they cannot be compared.

    Args:
        students: the students who would keep a grade from different tests.

    Raises:
        UserError: if there are any.
    """
    if students:
        raise UserError(
            f"the tests have changed since {listed(students, 5)} were graded, and --regrade would mix two versions "
            "in one class: leave it out to grade all again"
        )


def print_end(found: list[Found], records: Records) -> None:
    """Print a summary of the class, the submissions to review, and the staff's decisions."""
    total, number, notes = 0.0, 0, []
    most: set[float] = set()
    for submission in found:
        if report := records.report(submission):
            total, number, most = total + report.points, number + 1, most | {report.max_points}
            notes += [submission.student] if report.review and submission.student not in records.review else []
    if len(most) == 1:
        print(f"The mean of {number} is {total / number:.1f} of {max(most):g} points.")
    elif most:
        different = ", ".join(f"{maximum:g}" for maximum in sorted(most))
        print(f"No mean: the grades have different maximum points ({different}). Run batch again without --regrade.")
    if notes:
        print(f"{len(notes)} to review, see review.html and the pages in staff: {listed(notes)}.")
    known = {submission.student for submission in found}
    reviewed = [decisions for student, decisions in records.review.items() if student in known]
    changed = sum(len(changing(decisions)) for decisions in reviewed)
    if reviewed:
        said = sum(any(one.reason for one in decisions) for decisions in reviewed)
        looked = f", {silent} marked as reviewed" if (silent := len(reviewed) - said) else ""
        print(f"review.csv: {counted(changed, 'score')} changed, {counted(said, 'comment')} added{looked}.")
    asked = {request.student for request in read_requests(records.folder)}
    if nobody := sorted({*records.review, *asked} - known):
        print(clean(f"review.csv or requests.csv names {', '.join(nobody)}, but no submission has that name."))


def groups_of(members: list[Member], named: list[str]) -> list[str]:
    """Return the summary's lines about groups; the list is empty if there are no groups.

    Args:
        named: the submissions named after a group, not after a member.
    """
    grouped = [one for one in members if one.group and one.student not in named]
    groups = {one.group: one for one in grouped}
    problems = [f"  {group}: {one.why}" for group, one in groups.items() if one.why]
    said = f"Groups: {counted(len(groups), 'group')} of {counted(len(grouped), 'student')}."
    if named:
        what = "named after a group, not after a member: if it is a student's, rename the group in groups.csv"
        problems.append(f"  {listed(named)}: {what}")
    return [said, *problems] if groups else []


def print_absent(members: list[Member]) -> None:
    """Print the students on the roster who have not handed anything in."""
    config = course_config()
    people = read_people(config.roster, config.match)
    # Members of a group with several submissions, none of which counts, have handed in something.
    handed_in = set(people.called([one.student for one in members if one.why != NOTHING]).values())
    if absent := [name for name in people.names if name not in handed_in]:
        print(clean(f"{counted(len(absent), 'student')} on the roster handed in nothing: {listed(absent)}."))


def counted(number: int, what: str) -> str:
    """Return a number with a noun, such as "3 students"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def write_gradebook(found: list[Found], records: Records, chosen: Assignment, url: str) -> str:
    """Write all valid grades into nbgrader's gradebook; return its name."""
    from autograder.gradebooks.nbgrader import place_of, write_points

    place = place_of(url)
    by_name = {submission.student: submission for submission in found}
    members = ((one.student, by_name[one.submission]) for one in records.members(found) if one.submission)
    graded = (
        (replace(submission, student=student), report)
        for student, submission in members
        if (report := records.report(submission)) is not None
    )
    write_points(place, chosen, graded)
    return place.name


def outcomes(queue: Queue, settings: Settings, args: argparse.Namespace) -> Generator[Outcome, None, None]:
    """Grade the submissions in the queue, on this machine or on a cluster."""
    if on_cluster(args):
        from autograder.classroom.dask_cluster import grade_on_cluster

        return grade_on_cluster(queue, settings, args.scheduler, args.scheduler_file)
    return grade_here(queue, settings, args.jobs or processors())


class Progress:
    """The progress display: a bar on a terminal, or else a line every few seconds."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.total, self.done = total, 0
        self._started = self._last = time.monotonic()
        self._console = Console(highlight=False, emoji=False, markup=False)
        columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
        # A submission takes seconds, so the speed is averaged over minutes.
        bar = Bar(*columns, TimeRemainingColumn(), console=self._console, speed_estimate_period=600)
        self._bar = bar if self._console.is_terminal else None
        self._task = bar.add_task("", total=total, rate="")

    def __enter__(self) -> "Progress":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def skip(self) -> None:
        """Count a submission that needs no grading."""
        self.total -= 1
        if self._bar:
            self._bar.update(self._task, total=self.total)

    def advance(self) -> None:
        """Count a graded submission."""
        self.done += 1
        now = time.monotonic()
        rate = self.done / max(now - self._started, 1e-9)
        if self._bar:
            self._bar.update(self._task, completed=self.done, rate=f"{60 * rate:.1f} per minute")
        elif now - self._last >= LINE_SECONDS:
            self._last = now
            left = (self.total - self.done) / rate
            self.say(f"{self.done} of {self.total} graded, {60 * rate:.1f} per minute, {duration(left)} left")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        from rich.text import Text

        self._console.print(Text(clean(line)), soft_wrap=True)


def duration(seconds: float) -> str:
    """Format a duration: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    return run_command(lambda: run(args))
