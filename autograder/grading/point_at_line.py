"""After a failed test: make its last call once more, followed, and find the first line that is not right."""

from collections.abc import Mapping
from dataclasses import replace

from autograder.diagnosis import first_fault, known_steps
from autograder.diagnosis.compare_tensors import Incorrect
from autograder.diagnosis.line_words import sentences, text_of
from autograder.grading.results import LineMark, TestResult
from autograder.manifest import Stage, assignment
from autograder.sandbox.limits import TRACE_SECONDS
from autograder.sandbox.recipes import Recipe
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import Raised, StudentFault
from autograder.sandbox.traces import Line, Trace, Unreadable, read_trace


def point_at_line(
    result: TestResult, error: BaseException | None, student: Student, reference: Student | None, stage: Stage
) -> TestResult:
    """The result of a failed test with what its lines show, as far as that is sure.

    Args:
        error: what ended the test.
        student: runs the code of the submission.
        reference: runs the reference with named steps, for a hidden test; None for a visible one.
    """
    recipe = error.recipe if isinstance(error, (Incorrect, Raised)) else None
    if recipe is None:
        return result
    runs = student if recipe.code is student.code else student.with_code(recipe.code)
    try:
        known = _known(recipe, reference, stage)
        finding = first_fault.find(followed(recipe, runs), known) if known else None
    except (StudentFault, Unreadable, LookupError):
        return result
    finally:
        if runs is not student:
            runs.close()
    return with_finding(result, finding, own_files(recipe.code)) if finding else result


def _known(recipe: Recipe, reference: Student | None, stage: Stage) -> known_steps.Known | None:
    """What correct code computes in a call: for visible tests it is stored, for hidden ones the reference shows it."""
    if reference is None:
        expected = assignment(stage.assignment).expected
        return known_steps.read(known_steps.stored_file(expected, stage.name)).get(recipe.digest)
    return known_steps.known_from(followed(recipe, reference))


def followed(recipe: Recipe, student: Student, limit: float = TRACE_SECONDS) -> Trace:
    """The record of a call that a worker makes once more.

    Raises:
        StudentFault: if the call cannot be made.
        Unreadable: if what comes back is no record.
    """
    lengths = {name: text.count("\n") + 1 for name, text in own_files(student.code).items()}
    return read_trace(student.follow(recipe, limit), lengths)


def own_files(code: Code) -> dict[str, str]:
    """The texts of the modules of a stage, by the names of their files."""
    return {f"{module}.py": code.sources[module] for module in code.modules}


def with_finding(result: TestResult, finding: first_fault.Finding, sources: Mapping[str, str]) -> TestResult:
    """A result with what follows from the trace."""
    told = sentences(finding, sources)
    if not told:
        return result

    def mark(line: Line, state: str, steps: tuple[str, ...] = ()) -> LineMark:
        return LineMark(line.file, line.number, text_of(line, sources), state, steps)

    marks = [mark(line, "right", steps) for line, steps in finding.right]
    marks += [mark(fault.line, "wrong", (fault.missing,) if fault.missing else ()) for fault in finding.faults]
    marks += [mark(line, "after") for line in finding.after]
    step = finding.faults[0].missing if finding.faults else ""
    ordered = sorted(marks, key=lambda one: (one.file, one.line))
    return replace(result, pointed=told, marks=tuple(ordered), fault_step=step)
