"""Questions for a class: `python -m autograder questions SUBMISSIONS --stage mha --count 5 --seed 1 --out DIR`.

`questions mark` reads the answers of a class and writes points (see `answers`).
"""

import argparse
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from autograder.manifest import assignments, graded_folder
from autograder.questions.answers import mark
from autograder.questions.generate import Paper, paper
from autograder.questions.outputs import write_all
from autograder.reports.console import clean
from autograder.sandbox.submission_clock import Clock
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.find_submissions import Found, names_of, take_in
from autograder.submissions.which_assignment import assignment_of_class
from course.errors import UserError, run_command
from course.location import project_files

FAULT = 3  # exit status, as for `batch`
SECONDS = 120.0  # for all calls to a student's code
FAILED = "no questions, since the program itself failed on this code"


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autograder questions",
        description="Ask students about the code that they have handed in. Every answer comes from running their code.",
        epilog=f"what the questions can show and what they cannot: {project_files() / 'docs' / 'questions.md'}",
    )
    parser.add_argument("submissions", type=Path, metavar="SUBMISSIONS", help="folder or zip file of the submissions")
    parser.add_argument("--stage", required=True, metavar="NAME", help="the stage that the questions are about")
    parser.add_argument("--count", type=int, default=5, metavar="K", help="questions for each student (%(default)s)")
    parser.add_argument("--seed", type=int, metavar="N", help="the same seed gives the same questions (random)")
    parser.add_argument("--out", type=Path, default=Path("questions"), metavar="DIR", help="folder (%(default)s)")
    parser.add_argument("--minutes", type=int, default=10, metavar="M", help="time limit of timed pages (%(default)s)")
    parser.add_argument("--assignment", metavar="NAME", help="(the one with the stage, or that of most students)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="(%(default)s)")
    parser.add_argument("--unconfined", action="store_true", help="run foreign modules without confinement")
    return parser


def mark_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m autograder questions mark", description="Points for a class's answers.")
    parser.add_argument("answers", type=Path, metavar="ANSWERS", help="CSV: student, question, answer")
    parser.add_argument("--key", type=Path, required=True, metavar="FILE", help="key.json, written with the sheets")
    parser.add_argument("--points", type=float, default=5.0, metavar="P", help="points if all are right (%(default)g)")
    parser.add_argument("--graded", type=Path, required=True, metavar="DIR", help="folder of batch, or an assignment")
    return parser


def run(args: argparse.Namespace) -> int:
    having = [one for one in assignments().values() if any(stage.name == args.stage for stage in one.stages)]
    unique = args.assignment is None and len(having) == 1
    chosen = having[0] if unique else assignment_of_class(args.assignment, args.submissions)[0]
    if args.count < 1 or args.jobs < 1:
        raise UserError("--count and --jobs must be 1 or more")
    stage, seed = chosen.stage(args.stage), secrets.randbits(31) if args.seed is None else args.seed
    workers = make_workers(confined=not args.unconfined)
    try:
        intake = take_in(args.submissions, [chosen])

        def paper_of(found: Found) -> Paper:
            try:
                made = paper(found.read(), stage, chosen, workers, args.count, seed, Clock(SECONDS))
            except Exception as error:  # one student's code must not deprive the others of questions
                deep = isinstance(error, (RecursionError, MemoryError))
                trouble = "the code is nested too deeply" if deep else f"{FAILED} ({type(error).__name__})"
                made = Paper(found.student, stage.name, trouble=trouble)
            return replace(made, file=found.safe_name)

        with ThreadPoolExecutor(args.jobs) as pool:
            papers = list(pool.map(paper_of, intake.found))
    finally:
        workers.close()
    write_all(args.out, papers, chosen, stage, seed, args.minutes)
    made = sum(len(one.questions) for one in papers)
    print(f"{made} questions for {len(papers)} students are in {args.out}; the seed is {seed}")
    for one in (one for one in papers if one.trouble):
        print(clean(f"{one.student}: {one.trouble}"))
    if intake.unclaimed:
        print(f"left out {names_of(intake.unclaimed)} that belong to no student")
    return FAULT if any(one.trouble.startswith(FAILED) for one in papers) else 0


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["mark"]:
        args = mark_parser().parse_args(arguments[1:])
        return run_command(lambda: mark(args.answers, args.key, graded_folder(args.graded), args.points))
    args = parser().parse_args(arguments)
    return run_command(lambda: run(args))
