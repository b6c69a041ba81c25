"""A verdict that fits the screen: the least important parts are left out until it does."""

from collections.abc import Iterator

from rich.console import Console

from autograder.grading.results import Report
from autograder.reports.console import print_stage, print_total


def one_screen(console: Console, report: Report, verbose: bool, lines_below: int) -> str:
    """The text of a verdict. On a terminal, the text fits the screen and leaves `lines_below` lines for the caller.

    If the text is too long, passed tests are only counted. If it is still too long, only the first failing test is
    explained. As a last resort, the end of the explanation is cut, since the beginning describes the mistake.
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
    """Yield versions of the verdict with less and less detail."""
    yield drawn(console, report, verbose)
    if verbose:
        yield drawn(console, report, False)
    yield drawn(console, report, False, brief=True)
    yield drawn(console, report, False, brief=True, explained=1)


def drawn(console: Console, report: Report, verbose: bool, brief: bool = False, explained: int | None = None) -> str:
    """The verdict as shown on the console.

    Args:
        brief: passed tests are only counted.
        explained: the number of failed tests that are explained; None means all.
    """
    with console.capture() as capture:
        for stage in report.stages:
            printed = print_stage(console, stage, verbose, brief, explained)
            explained = None if explained is None else max(0, explained - printed)
        print_total(console, report, brief)
    return capture.get()
