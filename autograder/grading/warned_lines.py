"""The line behind a warning; of a gradient, what divides 0 by 0 or leaves the graph of autograd."""

import re
from collections.abc import Sequence
from dataclasses import replace

from autograder.diagnosis.code_text import text_of
from autograder.diagnosis.compare_tensors import Incorrect
from autograder.diagnosis.findings import Finding
from autograder.grading.point_at_line import followed, own_files, point_at_line
from autograder.grading.results import LineMark, TestResult
from autograder.manifest import Stage
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import StudentFault
from autograder.sandbox.traces import Line, Trace, Unreadable
from autograder.submissions.syntax_tree import functions

# What no gradient comes back through, in the text of a line: numbers of Python or NumPy are no part of the graph.
LEAVING = re.compile(
    r"\.(?:detach_?|numpy|item|tolist)\(|\.data\b|\bfloat\(|\bmath\.\w+\(|\btorch\.tensor\(|\bno_grad\("
)

GRADIENT = "gradient"  # in what a warning says


def with_warned_line(
    result: TestResult,
    warnings: Sequence[Incorrect | StudentFault],
    student: Student,
    stage: Stage,
    calls: dict[tuple[str, bool], tuple[Code, Finding, Trace]],
) -> TestResult:
    """The result of a test that passes with warnings, with what the lines of the first one show, as far as it is sure.

    Args:
        calls: see `point_at_line`.
    """
    for error in warnings:
        if isinstance(error, Incorrect) and GRADIENT in error.wrong.message and not error.changes:
            told = _told(result, error, student)
        else:
            told, _ = point_at_line(result, error, student, None, stage, calls)
        if told.pointed:
            return replace(told, fault_step="")  # that is counted of tests that fail
    return result


def _told(result: TestResult, error: Incorrect, student: Student) -> TestResult:
    """The result with the line behind a warning about a gradient, if it is sure."""
    if error.recipe is None:
        return result
    code = error.recipe.code
    runs = student if code is student.code else student.with_code(code)
    try:
        line, said = _line(followed(error.recipe, runs), own_files(code))
    except (StudentFault, Unreadable, LookupError):
        return result
    finally:
        if runs is not student:
            runs.close()
    if line is None:
        return result
    text = text_of(line, own_files(code))
    mark = LineMark(line.file, line.number, text, "wrong")
    return replace(result, pointed=(f"Line {line.number} of {line.file} {said}:", f"    {text}"), marks=(mark,))


def _line(trace: Trace, sources: dict[str, str]) -> tuple[Line | None, str]:
    """The line and what it does; None if it is not sure."""
    ran = {line for line in trace.lines if line}
    first = next(
        (line for line, nan, made in zip(trace.lines, trace.nan, trace.made, strict=True) if nan and made), None
    )
    if first is not None:
        return first, "makes NaN, which its gradient keeps even where the result is replaced later"
    made = {line for line in ran if LEAVING.search(text_of(line, sources)) and not _in_constructor(line, sources)}
    return (made.pop() if len(made) == 1 else None), "takes numbers out of the graph of autograd"


def _in_constructor(line: Line, sources: dict[str, str]) -> bool:
    module = line.file.removesuffix(".py")
    return any(
        name.endswith("__init__") and node.lineno <= line.number <= (node.end_lineno or 0)
        for name, node in functions(module, sources[line.file]).items()
    )
