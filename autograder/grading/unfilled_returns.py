"""Lists that a function gives back empty, since nothing is ever put into them."""

from collections.abc import Mapping
from dataclasses import replace

from autograder.diagnosis.code_text import text_of
from autograder.diagnosis.result_words import listed
from autograder.grading.results import LineMark, TestResult
from autograder.grading.source_lines import unfilled_lists
from autograder.sandbox.traces import Trace


def with_unfilled(result: TestResult, sources: Mapping[str, str], trace: Trace) -> TestResult:
    """A result with the only `return` of lists that nothing is put into, if there is one in what ran.

    Where another `return` is told, that stands.

    Args:
        sources: the texts of the student's files, by their names.
    """
    found = unfilled_lists(sources, {line for line in trace.lines if line})
    wrong = [(mark.file, mark.line) for mark in result.marks if mark.state == "wrong"]
    lines = {(line.file, line.number) for line, *_ in found}
    if len(lines) != 1 or (result.pointed and wrong != [*lines]):
        return result
    line, names, made = found[0][0], listed([name for *_, name in found]), [str(at) for _, at, _ in found]
    many = len(found) > 1
    said = f"Line {line.number} of {line.file} returns {names}, made empty on line{'s' * many} {listed(made)}"
    told = text_of(line, sources)
    pointed = f"{said}, and nothing is put into {'them' if many else 'it'}:", f"    {told}"
    marks = (LineMark(line.file, line.number, told, "wrong"),)
    return replace(result, pointed=pointed, pointed_beside=None, marks=marks, fault_step="")
