"""The report on the console: one block a stage, one line a test, plain words."""

from rich.console import Console
from rich.text import Text

from autograder.grading.results import NOT_JUDGED, PartResult, Report, StageResult, TestResult
from autograder.reports.one_cause import SAME, told_once

STYLES = {
    "passed": "green",
    "failed": "red",
    "error": "red",
    "timed out": "red",
    "forbidden": "red",
    "fault": "bold magenta",
    "no file": "yellow",
    "not started": "yellow",
    "blocked": "yellow",
}
PRINTED, LONGEST = 5, 200  # lines of what the code printed, and characters of a line, that are shown without --verbose
FIRST = "Mend what fails above first: most likely this is the same."
UNCONFINED = "Graded without confinement: the submission could have read expected values or changed its result."


def points(value: float) -> str:
    """Points without needless decimals: 15, 7.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def clean(text: str) -> str:
    """Text of a student's program, without control characters that could rewrite the screen."""
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)


def print_stage(
    console: Console, stage: StageResult, verbose: bool = False, brief: bool = False, explained: int | None = None
) -> int:
    """Print the block of a stage; of how many tests the reason was said.

    Args:
        verbose: more about each test, and what the code printed.
        brief: passed tests are only counted.
        explained: of how many tests that are not passed the reason is said; None means all.
    """
    if not brief:
        console.print()
    title = f"Stage {stage.number}: {stage.title}"
    score = f"{points(stage.points)} of {points(stage.max_points)} points"
    console.print(Text(f"{title:<58}{score:>18}", style="bold"))
    above = Above()  # one mistake often explains several tests
    printed = ""  # what was shown last of what the code printed, which often is the same in all tests
    passed, told = 0, 0
    for test in told_once(stage).tests:
        silent = test.status == "passed" and not test.message
        if brief and silent:
            passed += 1
            continue
        print_test(console, test, verbose, above, explained is None or told < explained)
        told += not silent and test.message != SAME
        if not verbose and not brief and test.printed.strip() not in ("", printed):
            printed = test.printed.strip()
            print_printed(console, printed, PRINTED)
    if passed:
        console.print(Text("  ").append(f"{'passed':<12}", style=STYLES["passed"]).append(f"{passed} of the tests"))
    return told


def print_printed(console: Console, text: str, most: int | None) -> None:
    """Show what the student's code printed: as a whole, or its last lines."""
    rows = clean(text.rstrip()).splitlines()
    left_out = 0 if most is None else max(0, len(rows) - most)
    more = f" (the last {most} of {len(rows)} lines; --verbose shows all)" if left_out else ""
    _indented(console, f"your code printed{more}:", "dim")
    for row in rows[left_out:]:
        _indented(console, "| " + (row if most is None else row[:LONGEST]), "dim")


class Above:
    """What tests have said, which need not be said again."""

    def __init__(self) -> None:
        self.first: dict[str, str] = {}  # which test has said it
        self.last: dict[str, str] = {}  # what of each kind was said last

    def again(self, kind: str, said: str, test: str) -> str:
        """Where a test finds what it would say, "above" or "in test_x"; nothing if no test has said it yet."""
        first, last = self.first.setdefault(said, test), self.last.get(kind)
        self.last[kind] = said
        return "" if first == test else "above" if last == said else f"in {first}"


def print_test(console: Console, test: TestResult, verbose: bool, above: Above, explained: bool = True) -> None:
    line = Text("  ")
    line.append(f"{test.status:<12}", style=STYLES[test.status])
    line.append(f"{test.name:<46}")
    line.append(f"{points(test.points):>4} of {points(test.max_points):<3}")
    console.print(line)
    if not explained or test.message == SAME or (test.status == "passed" and not test.message and not verbose):
        return
    _indented(console, test.title, "dim")
    said = {test.message}  # by the test itself, below, or by a part above
    for part in test.parts:
        _indented(console, part_line(part, part.message not in said), STYLES[part.status])
        said.add(part.message)
    if test.hidden and test.status != "passed":
        _indented(console, "The visible test passed, the hidden one did not:")
    if test.message:
        _indented(console, test.message, "" if test.status == "not started" else "bold")
    if pointed := "\n".join(test.pointed):
        where = above.again("line", pointed, test.name)
        same = "The line is the same as" if any(mark.state == "wrong" for mark in test.marks) else "As"
        _indented(console, f"{same} {where}." if where else pointed, "cyan")
    if test.hints:
        where = above.again("mistake", test.mistake, test.name)
        same = "the same." if where == "above" else f"the same as {where}."
        _indented(console, "Known mistake: " + (same if where else test.hints[0]), "cyan")
        if not where:
            _indented(console, test.hints[1] if verbose else "(--verbose says where to read again)", "cyan")
    shown = test.details if verbose or test.status not in ("fault", "not started") else ()
    for detail in shown:
        _indented(console, detail)
    if test.printed.strip() and verbose:
        print_printed(console, test.printed, None)


def part_line(part: PartResult, reason: bool = True) -> str:
    """A part of a test in one line.

    Args:
        reason: with its message.
    """
    line = f"{part.name}: {points(part.points)} of {points(part.max_points)}"
    if part.status == "passed":
        return line
    if part.message.startswith(NOT_JUDGED):
        return f"{line}, {part.message}"
    return f"{line}, {part.status}" + (f": {part.message}" if part.message and reason else "")


def _indented(console: Console, text: str, style: str = "") -> None:
    for row in clean(text).splitlines():
        words = row.lstrip(" ")
        margin = 14 + len(row) - len(words)  # a line of code stays to the right where it is broken, too
        for part in Text(words, style=style).wrap(console, max(20, console.width - margin)):
            console.print(Text(" " * margin).append(part))


def print_total(console: Console, report: Report, brief: bool = False) -> None:
    """Print how the modules work together, and the sum with the extra credit apart.

    Args:
        brief: without how they work together where a stage is not right yet.
    """
    whole = report.end_to_end
    if whole and whole.status != "not started" and (report.complete or not brief):
        console.print()
        console.print(Text("End to end, with your own modules only (no points)", style="bold"))
        console.print(Text("  ").append(f"{whole.status:<12}", style=STYLES[whole.status]).append(whole.title))
        rows = (whole.message, *whole.details) if report.complete else (FIRST,)
        for row in rows if whole.message else ():
            _indented(console, row)
    if len(report.stages) > 1 and not brief:
        console.print()
        for stage in report.stages:
            score = f"{points(stage.points)} of {points(stage.max_points)}"
            console.print(Text(f"  {stage.number} {stage.title:<54}{score:>18}"))
    extra = sum(stage.points for stage in report.stages if stage.extra_credit)
    extra_note = f", {points(extra)} of them extra credit" if extra else ""
    console.print()
    total = f"Total: {points(report.points)} of {points(report.max_points)} points{extra_note}"
    console.print(Text(total, style="bold green" if report.complete else "bold"), end="")
    console.print(Text(f"  ({report.seconds:.1f} s)", style="dim"))
    if report.hidden_seed is not None:
        console.print(Text(f"Visible and hidden tests, seed {report.hidden_seed}."))
    if report.confined is False:
        console.print(Text(UNCONFINED, style="bold yellow"))
    for note in report.review if report.hidden_seed is not None else ():
        console.print(Text("For review: ", style="bold yellow").append(clean(note)))
    if report.faulty:
        console.print(Text("The grader itself failed; this says nothing about the submission.", style="bold magenta"))
