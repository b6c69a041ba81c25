"""Limit the length of the text in a test's result, since a student's program can produce messages that are too long."""

from dataclasses import replace

from autograder.grading.results import PartResult, TestResult
from autograder.sandbox.limits import KEPT_OUTPUT

MESSAGE = 2000  # characters
LINES, LINE = 40, 600  # for the details: the number of lines, and of characters per line
CUT = " ... (cut)"


def shortened(text: str, most: int) -> str:
    """Cut a string to this many characters, and remove NUL characters, which end strings in some other programs."""
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text if len(text) <= most else text[: most - len(CUT)] + CUT


def within_budget(result: TestResult) -> TestResult:
    """Return a result with shortened strings. The end of the output and the full traceback of a fault are kept."""
    most = 10 * LINES if result.status == "fault" else LINES
    details = tuple(shortened(line, LINE) for line in result.details[:most])
    if len(result.details) > most:
        details += (f"and {len(result.details) - most} more lines",)
    return replace(
        result,
        message=shortened(result.message, MESSAGE),
        details=details,
        printed=shortened(result.printed[-KEPT_OUTPUT:], KEPT_OUTPUT),
        parts=tuple(map(_part, result.parts)),
    )


def _part(part: PartResult) -> PartResult:
    return replace(part, message=shortened(part.message, MESSAGE))
