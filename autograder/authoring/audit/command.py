"""The command `python -m autograder audit NAME`: run the checks and print a table and the problems."""

import argparse
import contextlib
import functools
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from autograder.authoring.audit.check import Check, look_at, sample
from autograder.authoring.audit.registry import CHECKS
from autograder.authoring.audit.subject import Subject
from autograder.manifest import assignment, work_on
from course.errors import UserError

HOLDS, BROKEN = 0, 1


@dataclass(frozen=True)
class Finding:
    """The result of a check."""

    name: str
    check: Check
    looked_at: int
    left_out: int
    seconds: float
    problems: list[tuple[str, str]]  # (item, problem)


def audit(subject: Subject, names: list[str], quick: bool, jobs: int) -> Iterator[Finding]:
    """Run the named checks one by one, with a progress bar."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, TextColumn("{task.fields[item]}"), transient=True) as progress,
        ThreadPoolExecutor(jobs) as pool,
    ):
        for name in names:
            started = time.monotonic()
            try:
                items = list(CHECKS[name].items(subject))
            except Exception as error:
                problem = f"the check itself failed: {type(error).__name__}: {error}"
                yield Finding(name, CHECKS[name], 0, 0, 0.0, [("", problem)])
                continue
            chosen = sample(items, CHECKS[name].QUICK) if quick else items
            task = progress.add_task(name, total=len(chosen), item="")
            problems = []
            results = pool.map(functools.partial(look_at, CHECKS[name], subject), chosen)
            for item, wrong in zip(chosen, results, strict=True):
                problems += [(item, what) for what in wrong]
                progress.update(task, advance=1, item=item)
            progress.remove_task(task)
            seconds = time.monotonic() - started
            yield Finding(name, CHECKS[name], len(chosen), len(items) - len(chosen), seconds, problems)


def show(title: str, findings: list[Finding]) -> None:
    """Print the table and the problems."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, emoji=False, markup=False)
    table = Table(title=title, title_justify="left")
    for heading, justify in {
        "check": "left",
        "what must hold": "left",
        "checked": "right",
        "seconds": "right",
    }.items():
        table.add_column(heading, justify="right" if justify == "right" else "left")
    table.add_column("")
    for finding in findings:
        left_out = f" of {finding.looked_at + finding.left_out}" if finding.left_out else ""
        if finding.problems:
            mark = Text(f"{len(finding.problems)} wrong", style="bold red")
        else:
            mark = Text("holds", style="green") if finding.looked_at else Text("left out", style="yellow")
        looked_at = f"{finding.looked_at}{left_out}"
        table.add_row(finding.name, Text(finding.check.PROMISE), looked_at, f"{finding.seconds:.0f}", mark)
    console.print(table)
    for finding in findings:
        for item, what in finding.problems:
            console.print(Text.assemble((f"{finding.name}: {item}: ", "bold"), what))


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m autograder audit",
        description="Check everything that must hold for an assignment.",
        epilog="exit status: 0 all checks passed, 1 there are problems, 2 wrong usage",
    )
    parser.add_argument("name", metavar="NAME", help="the assignment")
    parser.add_argument("check", nargs="*", help=f"checks to run (default: all): {', '.join(CHECKS)}")
    parser.add_argument("--quick", action="store_true", help="check only a sample of the slow checks' items")
    cores = os.cpu_count() or 1
    parser.add_argument(
        "--jobs", type=int, default=cores, metavar="N", help="check N items in parallel (default: %(default)s)"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    work_on(args.name)
    chosen = assignment(args.name)
    if unknown := [name for name in args.check if name not in CHECKS]:
        raise UserError(f"there is no check {unknown[0]}; the checks are {', '.join(CHECKS)}")
    if args.jobs < 1:
        raise UserError(f"--jobs must be at least 1, not {args.jobs}")
    names = [name for name in CHECKS if name in args.check] or list(CHECKS)
    findings = []
    with contextlib.closing(Subject(chosen)) as subject:
        for finding in audit(subject, names, args.quick, args.jobs):
            findings.append(finding)
            if not sys.stdout.isatty():  # there is no progress bar
                print(
                    f"{finding.name}: {len(finding.problems)} problems, {finding.seconds:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
    show(f"{chosen.name}: {chosen.title}", findings)
    wrong = sum(len(finding.problems) for finding in findings)
    print(f"{wrong} problem(s)." if wrong else "No problems.")
    return BROKEN if wrong else HOLDS
