"""The report on the console: a block per stage, a line per test, in plain words."""

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from autograder.grading.results import Report, StageResult, TestResult
from autograder.manifest import Stage
from autograder.reports.one_cause import SAME, told_once
from autograder.reports.short_verdict import UNWRITTEN, Row, part_line, points, short_rows

STYLES = {
    "passed": "green",
    "failed": "red",
    "error": "red",
    "timed out": "red",
    "forbidden": "red",
    "fault": "bold magenta",
    "no file": "yellow",
    "not started": "dim",
    "blocked": "dim",
}
PRINTED, LONGEST = 3, 200  # how much of the code's output is shown without --verbose: lines, characters per line
WIDEST = 100  # the width of a row with a score, in columns
FIRST = "Fix the failures above first: this is probably the same problem."
UNCONFINED = "Graded without confinement: the submission could have read expected values or changed its result."
# The style of each kind of row in a verdict.
ROWS = {"what": "bold", "where": "cyan", "expected": "cyan", "right": "", "parts": "dim", "numbers": "dim", "note": ""}


def clean(text: str) -> str:
    """Text from a student's program, without control characters that could rewrite the screen."""
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)


def listed(names: Sequence[str], most: int = 10) -> str:
    """The first few names, and the number of names left out."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def print_stage(
    console: Console, stage: StageResult, verbose: bool = False, brief: bool = False, explained: int | None = None
) -> int:
    """Print the block of a stage; return the number of tests for which a reason was printed.

    Args:
        verbose: print more about each test, and the output of the code.
        brief: only count passed tests.
        explained: the largest number of failed tests for which a reason is printed; None means all.
    """
    if not brief:
        console.print()
    score = f"{points(stage.points)} of {points(stage.max_points)} points"
    untouched = all(test.status == "not started" for test in stage.tests)
    style = "dim" if untouched else "bold green" if stage.points == stage.max_points else "bold"
    console.print(_scored(console, f"Stage {stage.number}: {stage.title}", score, style))
    if untouched and not verbose:
        _indented(console, UNWRITTEN.sub("", stage.tests[0].message), "dim", margin=2)
        return 0
    above = Above()  # one mistake often explains several tests
    printed = ""  # the output shown last, which is often the same in all tests
    passed, explanations = 0, 0
    for test in told_once(stage).tests:
        silent = test.status == "passed" and not test.message
        if brief and silent:
            passed += 1
            continue
        print_test(console, test, verbose, above, explained is None or explanations < explained)
        explanations += not silent and test.message != SAME
        if not verbose and not brief and test.printed.strip() not in ("", printed):
            printed = test.printed.strip()
            print_printed(console, printed, PRINTED)
    if passed:
        console.print(Text("  ").append(f"{'passed':<12}", style=STYLES["passed"]).append(f"{passed} tests"))
    return explanations


def _scored(console: Console, left: str, right: str, style: str = "") -> Text:
    """A row that ends with the points; text that is too long is shortened."""
    width = min(console.width, WIDEST) - len(right) - 2
    shown = left if len(left) <= width else left[: width - 1].rstrip() + "…"
    return Text(f"{shown:<{width}}  {right}", style=style)


def print_printed(console: Console, text: str, most: int | None) -> None:
    """Show all output of the student's code, or only the last lines."""
    rows = clean(text.rstrip()).splitlines()
    left_out = 0 if most is None else max(0, len(rows) - most)
    more = f" (the last {most} of {len(rows)} lines; --verbose shows all)" if left_out else ""
    _indented(console, f"your code printed{more}:", "dim")
    for row in rows[left_out:]:
        _indented(console, "| " + (row if most is None else row[:LONGEST]), "dim")


class Above:
    """The verdicts printed so far, which are not repeated."""

    def __init__(self) -> None:
        self._mistakes: dict[tuple[str, object], str] = {}  # hint and lines -> the title of the first test with them
        self._last: tuple[str, object] | None = None
        self._lines: frozenset[object] = frozenset()

    def same_mistake(self, hint: str, lines: object, title: str) -> str:
        """A sentence that refers to an earlier test with the same mistake on the same lines, or ""."""
        last, self._last = self._last, (hint, lines)
        if (hint, lines) not in self._mistakes:
            self._mistakes[hint, lines] = title.rstrip(".")
            return ""
        return SAME if last == (hint, lines) else f"Same cause as in: {self._mistakes[hint, lines]}."

    def same_lines(self, lines: object) -> bool:
        """Whether the verdict on an earlier test named the same lines."""
        seen, self._lines = lines in self._lines, self._lines | {lines}
        return seen


def print_test(console: Console, test: TestResult, verbose: bool, above: Above, explained: bool = True) -> None:
    """Print a test: its verdict and points, and a few rows if it did not pass."""
    status = test.status if test.status in ("passed", "not started", "blocked") else test.status.upper()
    score = f"{points(test.points)} of {points(test.max_points)}"
    row = _scored(console, f"  {status:<12}{test.title.rstrip('.')}", score)
    row.stylize(STYLES[test.status], 2, 2 + len(status))
    console.print(row)
    if verbose:
        print_all(console, test)
    elif explained and test.message and test.status != "not started":
        print_short(console, test, above)


def print_short(console: Console, test: TestResult, above: Above) -> None:
    """Print the mistake and its location, the expected code, the correct lines, and the numbers."""
    if test.message == SAME:
        _indented(console, SAME, "dim")
        return
    rows = short_rows(test)
    wrong = tuple((mark.file, mark.line) for mark in test.marks if mark.state == "wrong")
    named = bool(wrong) and above.same_lines(wrong)
    if test.hints and (cause := above.same_mistake(test.hints[0], wrong, test.title)):
        rows = [row for row in rows if row.kind in ("parts", "numbers")] + [Row("note", cause)]
    elif named:  # an earlier test has named this line, but there may be another mistake in it
        places = [Row("where", f"{row.text.rstrip(':')} here, too.") for row in rows if row.kind == "where"]
        rows = [row for row in rows if row.kind not in ("where", "expected", "right")] + places
    for row in rows:
        shown = [row.text] if row.kind != "where" else _fitting(row, min(console.width, WIDEST) - 4)
        for text in shown:
            _indented(console, text, ROWS[row.kind])


def _fitting(row: Row, width: int) -> list[str]:
    """A location and its code, in one row if they fit, otherwise with the code in the rows below."""
    if "\n" not in row.code and len(f"{row.text}  {row.code}") <= width:
        return [f"{row.text}  {row.code}".rstrip()]
    wrap = textwrap.TextWrapper(width, initial_indent=" " * 4, subsequent_indent=" " * 8, max_lines=2, placeholder=" …")
    return [row.text, *(part for code in row.code.splitlines() for part in wrap.wrap(code))]


def print_all(console: Console, test: TestResult) -> None:
    """Print everything about a test."""
    _indented(console, f"{test.name}: {test.title}", "dim")
    messages = {test.message}  # printed by the test itself, below, or by a part above
    for part in test.parts:
        _indented(console, part_line(part, part.message not in messages), STYLES[part.status])
        messages.add(part.message)
    if test.hidden and test.status != "passed":
        _indented(console, "The visible test passed, the hidden one did not:")
    for text, style in ((test.message, "bold"), ("\n".join(test.pointed), "cyan")):
        _indented(console, text, style)
    for text in (*(f"Known mistake: {hint}" for hint in test.hints[:1]), *test.hints[1:]):
        _indented(console, text, "cyan")
    for detail in test.details:
        _indented(console, detail)
    if test.printed.strip():
        print_printed(console, test.printed, None)


def _indented(console: Console, text: str, style: str = "", margin: int = 4) -> None:
    for row in clean(text).splitlines():
        words = row.lstrip(" ")
        left = margin + len(row) - len(words)  # a wrapped line of code stays indented
        for part in Text(words, style=style).wrap(console, max(20, min(console.width, WIDEST) - left)):
            console.print(Text(" " * left).append(part))


def print_total(console: Console, report: Report, brief: bool = False) -> None:
    """Print the end-to-end test, and the sum of the points, with extra credit listed separately.

    Args:
        brief: leave out the end-to-end test unless all required points were earned.
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
    required = [stage for stage in report.stages if not stage.extra_credit]
    extra = [stage for stage in report.stages if stage.extra_credit]
    total = f"Total: {_sum(required or extra)} points{f', and {_sum(extra)} extra' if required and extra else ''}"
    console.print()
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


def _sum(stages: list[StageResult]) -> str:
    return f"{points(sum(stage.points for stage in stages))} of {points(sum(stage.max_points for stage in stages))}"


def print_next(console: Console, report: Report, stages: Sequence[Stage]) -> None:
    """Print the next step after a success: the next stage, or how to hand in.

    Args:
        stages: all stages of the assignment.
    """
    graded = {stage.name: stage for stage in report.stages}
    first = report.stages[0]
    has_message = any(test.message for test in report.tests)  # a failure, or a warning
    if has_message and not any(test.status == "not started" for test in report.tests):
        console.print("python grade.py --verbose shows more.", style="dim")
    if report.faulty or report.hidden_seed is not None or first.points < first.max_points:
        return
    for stage in stages:
        result = graded.get(stage.name)
        if result is None and stage.number < report.stages[0].number:
            continue
        if result is None or (result.points < result.max_points):
            console.print(f"Next: stage {stage.number}, {stage.title} (python grade.py {stage.name})")
            return
    if not has_message:
        console.print("Everything is right. To hand in: python grade.py --zip")
