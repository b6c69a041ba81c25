"""A verdict that fits the screen: what matters first, and less and less of what does not, until it does."""

from collections.abc import Iterator

from rich.console import Console

from autograder.grading.results import Report
from autograder.reports.console import print_stage, print_total


def one_screen(console: Console, report: Report, verbose: bool, lines_below: int) -> str:
    """The text of a verdict. On a terminal it is not longer than the screen, whose last lines are for others.

    Where it would be, passed tests become a number, then only the first test that is not passed is explained, and at
    last the end of the explanation is left out: what is wrong and the known mistake stand at its beginning.
    """
    if not console.is_terminal:
        return drawn(console, report, verbose)
    height = console.height - lines_below
    for text in shorter(console, report, verbose):
        if text.count("\n") <= height:
            return text
    stages = "" if len(report.stages) > 1 else f" {report.stages[0].name}"
    *head, total = text.rstrip("\n").splitlines()
    return "\n".join([*head[: height - 2], f"(more: python grade.py{stages})", total, ""])


def shorter(console: Console, report: Report, verbose: bool) -> Iterator[str]:
    """The verdict with less and less in it."""
    yield drawn(console, report, verbose)
    if verbose:
        yield drawn(console, report, False)
    yield drawn(console, report, False, brief=True)
    yield drawn(console, report, False, brief=True, explained=1)


def drawn(console: Console, report: Report, verbose: bool, brief: bool = False, explained: int | None = None) -> str:
    """The verdict as the console shows it.

    Args:
        brief: passed tests are only counted.
        explained: of how many tests that are not passed the reason is said; None means all.
    """
    with console.capture() as capture:
        for stage in report.stages:
            told = print_stage(console, stage, verbose, brief, explained)
            explained = None if explained is None else max(0, explained - told)
        print_total(console, report, brief)
    return capture.get()
