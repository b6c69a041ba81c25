"""A test's verdict in a few rows: the mistake, its location, the expected code, the correct lines, and the numbers."""

import re
from dataclasses import dataclass

from autograder.grading.results import NOT_JUDGED, PartResult, TestResult

CODE = "    "  # the prefix of a row of code in the sentences about lines
UNWRITTEN = re.compile(r"^Stage \d+: ")  # the beginning of a stub's message
CORRECT = "Correct up to here:"
SHAPES = "shapes "  # the prefix of the detail that lists the shapes in the line of an exception


@dataclass(frozen=True)
class Row:
    """A row of a verdict."""

    kind: str  # "what", "parts", "where", "expected", "right", "numbers" or "note"
    text: str
    code: str = ""  # the code of the lines named in the text


def points(value: float) -> str:
    """Points without needless decimals: 15, 7.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def short_rows(test: TestResult) -> list[Row]:
    """The rows for a test that did not pass, or passed with a warning, in reading order."""
    if test.status == "not started":
        return [Row("note", UNWRITTEN.sub("", test.message))] if test.message else []
    rows = [Row("parts", parts_line(test))] if len({part.status for part in test.parts}) > 1 else []
    if test.hidden and test.status != "passed" and not test.message.startswith("The visible"):
        rows.append(Row("note", "The visible test passed, the hidden one did not:"))
    hint = "".join(test.hints[:1])
    if test.status == "error":
        # An exception, its shapes and its line are more helpful than the hint of a matching mistake.
        shapes = "".join(detail.removeprefix(SHAPES).strip() for detail in test.details if detail.startswith(SHAPES))
        rows += [Row("what", test.message), Row("numbers", f"Shapes: {shapes}" if shapes else ""), *lines_of_code(test)]
        rows += [Row("numbers", test.short), Row("numbers", hint)]
    else:
        rows += [Row("what", hint or test.message), *lines_of_code(test)]
        rows += [Row("numbers", test.message if hint and not test.short else ""), Row("numbers", test.short)]
    return [row for row in rows if row.text]


def lines_of_code(test: TestResult) -> list[Row]:
    """The sentences about lines; the code of each line comes after its location, in the same row."""
    rows: list[Row] = []
    for sentence in test.pointed:
        if sentence.startswith(CODE) and rows and rows[-1].kind == "where":
            rows[-1] = Row("where", rows[-1].text, f"{rows[-1].code}\n{sentence.strip()}".strip())
        elif sentence.startswith(CORRECT):
            rows.append(Row("right", sentence))
        else:
            rows.append(Row("where" if sentence.endswith(":") else "expected", sentence))
    return rows


def parts_line(test: TestResult) -> str:
    """The points of all parts, in one row."""
    if not test.parts:
        return ""
    return "Parts: " + ", ".join(
        f"{part.name} ({points(part.points)} of {points(part.max_points)})"
        if not part.message.startswith(NOT_JUDGED)
        else f"{part.name} (not judged)"
        for part in test.parts
    )


def part_line(part: PartResult, reason: bool = True) -> str:
    """A part of a test, on one line.

    Args:
        reason: whether to include its message.
    """
    line = f"{part.name}: {points(part.points)} of {points(part.max_points)}"
    if part.status == "passed":
        return line
    if part.message.startswith(NOT_JUDGED):
        return f"{line}, {part.message}"
    return f"{line}, {part.status}" + (f": {part.message}" if part.message and reason else "")
