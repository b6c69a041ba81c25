"""The line behind a warning: what writes into an argument, divides 0 by 0, or leaves the graph of autograd."""

from collections.abc import Sequence
from dataclasses import replace

from autograder.diagnosis.changing_lines import argument_line
from autograder.diagnosis.compare_tensors import Incorrect
from autograder.diagnosis.line_words import text_of
from autograder.grading.point_at_line import followed, own_files
from autograder.grading.results import LineMark, TestResult
from autograder.grading.source_lines import written_arguments
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.student_faults import StudentFault
from autograder.sandbox.traces import Line, Trace, Unreadable

LEAVING = ("detach", "detach_", "numpy", "item", "tolist")  # operations after which no gradient comes back


def with_warned_line(result: TestResult, warnings: Sequence[Incorrect | StudentFault], student: Student) -> TestResult:
    """The result of a test that passes with warnings, with the line of the first one whose line is sure."""
    for error in warnings:
        if not isinstance(error, Incorrect) or error.recipe is None or error.actual is not None:
            continue
        code = error.recipe.code
        runs = student if code is student.code else student.with_code(code)
        try:
            line, said = _line(followed(error.recipe, runs), error, own_files(code))
        except (StudentFault, Unreadable, LookupError):
            continue
        finally:
            if runs is not student:
                runs.close()
        if line is not None:
            text = text_of(line, own_files(code))
            mark = LineMark(line.file, line.number, text, "wrong")
            return replace(result, pointed=(f"Line {line.number} of {line.file} {said}:", f"    {text}"), marks=(mark,))
    return result


def _line(trace: Trace, error: Incorrect, sources: dict[str, str]) -> tuple[Line | None, str]:
    """The line and what it does; None if it is not sure."""
    ran = {line for line in trace.lines if line}
    if error.changes:
        written = written_arguments(sources, ran)
        line = argument_line(trace) or (next(iter(written)) if len(written) == 1 else None)
        return line, f"writes into {error.changes}"
    if "gradient" not in error.wrong.message:
        return None, ""
    first = next(
        (line for line, nan, made in zip(trace.lines, trace.nan, trace.made, strict=True) if nan and made), None
    )
    if first is not None:
        return first, "makes NaN, which its gradient keeps even where the result is replaced later"
    leaving = {line for line, name in zip(trace.lines, trace.operations, strict=True) if name in LEAVING and line}
    return (leaving.pop() if len(leaving) == 1 else None), "takes a tensor out of the graph of autograd"
