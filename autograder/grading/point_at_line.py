"""After a failed test: make its last call once more, followed, and find the first line that is not right."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from autograder.diagnosis import first_fault, known_steps
from autograder.diagnosis.changing_lines import (
    argument_line,
    kept_line,
    making_line,
    random_line,
    returning_line,
    unfilled_lines,
)
from autograder.diagnosis.code_text import text_of
from autograder.diagnosis.compare_tensors import Incorrect, Wrong
from autograder.diagnosis.consequences import with_exception
from autograder.diagnosis.findings import Fault, Finding, Text, goes_own_way, with_others
from autograder.diagnosis.line_words import sentences
from autograder.diagnosis.module_outputs import misplaced_line, only, using_line
from autograder.diagnosis.weak_tensors import numbers_to_tell
from autograder.grading.constant_conditions import with_constant_condition
from autograder.grading.doubtful_axes import with_doubtful_axes
from autograder.grading.opposite_masks import with_masks
from autograder.grading.other_generators import with_other_generator
from autograder.grading.results import LineMark, TestResult
from autograder.grading.source_lines import (
    bare_calls,
    early_returns,
    filled_lists,
    gathering_returns,
    in_given,
    keeping_line,
    keeps_what_was_made,
    making_returns,
    named_attributes,
    names_used,
    names_written_last,
    only_naming_line,
    only_statement,
    uses_filled,
    written_arguments,
)
from autograder.grading.unfilled_returns import with_unfilled
from autograder.grading.unsteady_results import CHANGING
from autograder.grading.unused_steps import with_idle_statement, with_overwritten, with_unused_step
from autograder.grading.wrong_loops import with_wrong_loop
from autograder.grading.wrong_result import with_wrong_result
from autograder.manifest import Stage, assignment
from autograder.sandbox.last_call import KEPT
from autograder.sandbox.limits import TRACE_SECONDS
from autograder.sandbox.recipes import Recipe
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code, body_of
from autograder.sandbox.student_faults import Raised, StudentFault
from autograder.sandbox.traces import Line, Trace, Unreadable, read_trace

MOST_LINES = 3  # of which one does something, that are told
MASK_SECONDS = 1.0  # of computing with the opposite of a mask
HEAVY = 3_500  # operations of a call that is not made again to look what the opposite of a mask or a change would give
READY_SECONDS = 2.0  # for the worker to begin a record, before anything of the submission runs again


class Followed(NamedTuple):
    """A failed call that was followed, and what follows from that."""

    recipe: Recipe
    known: known_steps.Known
    trace: Trace
    finding: Finding
    raised: bool  # whether it ended with an exception
    whole: bool  # whether it gave whole numbers


def point_at_line(
    result: TestResult,
    error: BaseException | None,
    student: Student,
    reference: Student | None,
    stage: Stage,
    calls: dict[tuple[str, bool], tuple[Code, Finding, Trace]],
) -> tuple[TestResult, Followed | None]:
    """The result of a failed test with what its lines show, as far as that is sure, and how it was followed.

    Args:
        error: what ended the test.
        student: runs the code of the submission.
        reference: runs the reference with named steps, for a hidden test; None for a visible one.
        calls: what follows from those that were followed in other tests of the stage; this one is put there, too.
    """
    recipe = error.recipe if isinstance(error, (Incorrect, Raised)) else None
    if recipe is None:
        return result, None
    runs = student if recipe.code is student.code else student.with_code(recipe.code)
    try:
        if isinstance(error, Incorrect) and error.wrong in CHANGING.values():
            return _changing(result, recipe, runs, error.wrong), None
        if isinstance(error, Incorrect) and error.made_by and not error.operation:
            return _used(result, recipe, runs, error.made_by), None
        if isinstance(error, Incorrect) and error.operation and not error.made_by:
            trace, said = followed(recipe, runs), f"uses {error.operation} in another place than correct code"
            lines = {line for line, name in zip(trace.lines, trace.operations, strict=True) if name == error.operation}
            return _with_line(result, recipe, only(lines), said), None
        if isinstance(error, Incorrect) and error.changes:
            trace = followed(recipe, runs)
            written = written_arguments(own_files(recipe.code), {line for line in trace.lines if line})
            line = argument_line(trace) or only(written)
            if line is None and 1 < len(written) <= MOST_LINES:
                return _with_lines(result, recipe, written, f"writes into {error.changes}"), None
            return _with_line(result, recipe, line, f"writes into {error.changes}"), None
        if isinstance(error, Raised) and KEPT in error.message:
            told = _kept(result, recipe, runs, followed(recipe, runs))
            if told is not result:
                return told, None
        known = _known(recipe, reference, stage)
        nan = isinstance(error, Incorrect) and "NaN" in error.wrong.message
        if known is None:
            return result, None
        if isinstance(error, Incorrect) and error.operation:
            told = _misplaced(result, recipe, runs, known, error)
            if told is not result:
                return told, None
        key = recipe.digest, nan
        if key not in calls or calls[key][0] != recipe.code:
            calls[key] = recipe.code, *_found(recipe, runs, known, nan, isinstance(error, Raised))
        _, finding, trace = calls[key]
    except (StudentFault, Unreadable, LookupError):
        return result, None
    finally:
        if runs is not student:
            runs.close()
    raised = isinstance(error, Raised)
    finding = with_exception(finding, trace) if raised else finding
    actual = error.actual if isinstance(error, Incorrect) else None
    whole = isinstance(actual, np.ndarray) and actual.dtype.kind in "iu"
    told = with_finding(result, finding, own_files(recipe.code))
    if whole and finding.faults and all(fault.vague for fault in finding.faults):  # a known mistake says more of it
        told = replace(told, pointed_beside=())
    if not told.pointed and not raised and result.message.endswith("has the wrong dtype"):
        told = _with_line(result, recipe, making_line(trace), "makes what has the wrong dtype")
    elif not told.pointed and not raised and result.message.endswith("has the wrong type"):
        line = returning_line(trace)
        filled = line is not None and uses_filled(own_files(recipe.code), line)
        told = told if filled else _with_line(result, recipe, line, "returns what has the wrong type")
    elif not (finding.faults or finding.opposite or finding.nan or finding.never or finding.often or raised):
        told = _with_only(told, recipe, known, trace)
    if not raised and all(map(goes_own_way, finding.faults)):
        told = _kept_anew(told, recipe, trace)
    if not raised and all(fault.returns is not None for fault in finding.faults):
        told = with_unfilled(told, own_files(recipe.code), trace)
    return told, Followed(recipe, known, trace, finding, raised, whole)


def _with_only(result: TestResult, recipe: Recipe, known: known_steps.Known, trace: Trace) -> TestResult:
    """A result with the only line that can be wrong: that keeps the attribute which is read, or all that has run."""
    sources, request = own_files(recipe.code), recipe.requests[-1][0]
    if any("vmap(" in text for text in sources.values()):  # of what runs inside nothing is seen
        return result
    if request["do"] == "get" and (known.find(trace.signatures[list(trace.results)]) >= 0).all():
        line, _ = keeping_line(sources, request["attribute"], trace.places())
        made = " or one that makes what it uses" if line and keeps_what_was_made(sources, line) else ""
        return _with_line(result, recipe, line, f"keeps as {request['attribute']} something else than it should", made)
    return _with_line(result, recipe, *only_statement(sources, trace.places()))


def _kept_anew(result: TestResult, recipe: Recipe, trace: Trace) -> TestResult:
    """A result with the line that changes the attribute which is read: what the constructor has made may be right."""
    name = recipe.requests[-1][0].get("attribute", "")
    line, again = keeping_line(own_files(recipe.code), name, trace.places())
    return _with_line(result, recipe, line, f"gives {name} another value than it had") if again else result


def _changing(result: TestResult, recipe: Recipe, runs: Student, why: Wrong) -> TestResult:
    """The result of a test whose call changes from time to time, with the line where that begins."""
    first = followed(recipe, runs)
    if why is CHANGING["random"]:
        line, caller, elsewhere = random_line(first, followed(recipe, runs))
        if line and caller and elsewhere:  # it is the call that is another one than the others
            return _with_line(result, recipe, caller, f"calls a function whose line {line.number} draws random numbers")
        calls = f", whose function line {caller.number} of {caller.file} calls," if caller and caller != line else ""
        return _with_line(result, recipe, line, "draws random numbers", calls)
    if why is CHANGING["unfilled"]:
        return _with_line(result, recipe, only(unfilled_lines(first)), "makes a tensor without values")
    return _kept(result, recipe, runs, first)


def _kept(result: TestResult, recipe: Recipe, runs: Student, first: Trace) -> TestResult:
    """The result of a test whose call depends on earlier ones, with the line that uses what they have left."""
    kept = kept_line(first, followed(recipe, runs, earlier=True))
    return _with_line(result, recipe, kept, "uses a tensor that an earlier call has left")


def _used(result: TestResult, recipe: Recipe, runs: Student, modules: Sequence[str]) -> TestResult:
    """The result of a test that is about the output of a submodule, with the line that uses this, if it is one."""
    line, made = using_line(followed(recipe, runs), modules)
    where = f" (line {made.number})" if made and line and made.file == line.file else ""
    return _with_line(result, recipe, line, f"goes on with this output, of {' and '.join(modules)}{where}, without it")


def _misplaced(
    result: TestResult, recipe: Recipe, runs: Student, known: known_steps.Known, error: Incorrect
) -> TestResult:
    """The result of a test about what should stand on the outputs of submodules, with the line of what does not."""
    line = misplaced_line(followed(recipe, runs), known, error.made_by, error.operation)
    return _with_line(result, recipe, line, f"uses {error.operation} in another place or way than correct code")


def _with_line(result: TestResult, recipe: Recipe, line: Line | None, said: str, calls: str = "") -> TestResult:
    """A result with what is said of a line, if there is one."""
    if line is None:
        return result
    sources = own_files(recipe.code)
    mark = LineMark(line.file, line.number, text_of(line, sources), "wrong")
    return replace(
        result, pointed=(f"Line {line.number} of {line.file}{calls} {said}:", f"    {mark.text}"), marks=(mark,)
    )


def _with_lines(result: TestResult, recipe: Recipe, lines: Sequence[Line], said: str) -> TestResult:
    """A result with what is said of one of several lines, of which it is not known which."""
    sources, numbers = own_files(recipe.code), sorted({(line.file, line.number) for line in lines})
    told = [f"    {text_of(Line(file, number, number), sources)}  # line {number}" for file, number in numbers]
    return replace(result, pointed=(f"One of these lines of {numbers[0][0]} {said}:", *told))


def _found(recipe: Recipe, runs: Student, known: known_steps.Known, nan: bool, raised: bool) -> tuple[Finding, Trace]:
    """What follows from a call, and its record; nothing if it gave NaN in the test, and gives none now.

    Args:
        raised: whether it ended with an exception, behind which nothing runs.
    """
    sources = own_files(recipe.code)
    trace = followed(recipe, runs)
    if not trace.results and trace.raised is None and recipe.earlier:  # what it needs was kept by an earlier call
        trace = followed(recipe, runs, earlier=True)
    if nan and not trace.nan[list(trace.results)].any():
        return Finding(), trace
    text = Text(
        in_given(sources, known.given),
        bare_calls(sources),
        filled_lists(sources),
        gathering_returns(sources),
        making_returns(sources),
        early_returns(sources),
        names_written_last(sources),
        named_attributes(sources),
        functools.partial(only_naming_line, sources),
    )
    finding = first_fault.find(trace, known, text)
    if nan and not finding.faults:  # what is made may be there, and not finite
        finding = replace(finding, missing=())
    if trace.raised is None and trace.ran <= HEAVY:
        turned = functools.partial(_with_opposite, recipe, runs)
        finding = with_masks(finding, trace, known, functools.partial(first_fault.find, trace, known, text), turned)
    finding = with_doubtful_axes(finding, trace, sources)
    finding = with_wrong_loop(finding, trace, known, sources, text, raised)
    finding = with_other_generator(with_unused_step(finding, sources, text), trace, sources)
    finding = with_constant_condition(with_idle_statement(finding, trace, sources), trace.places(), sources, text)
    finding = with_wrong_result(with_overwritten(finding, trace, sources, text), trace, known, sources, text)
    telling = numbers_to_tell(trace, known, {fault.line for fault in finding.faults if fault.order})
    used = {
        fault.line: names_used(sources, fault.line, telling.get(fault.line, {}), trace.lines)
        for fault in finding.faults
        if fault.vague or (not (fault.calls or fault.opposite or fault.twice) and fault.returns is None)
    }
    faults = tuple(_turned(fault, recipe, runs, known) for fault in finding.faults)
    return replace(finding, faults=faults, used=used), trace


def _with_opposite(recipe: Recipe, runs: Student, node: int) -> Trace | None:
    """The record of a call in which the opposite of a mask is used; None if there is none, as of an endless loop."""
    try:
        return followed(recipe, runs, MASK_SECONDS, opposite=node)
    except StudentFault:
        return None


def _turned(fault: Fault, recipe: Recipe, runs: Student, known: known_steps.Known) -> Fault:
    """A fault of the order of numbers, with the order of the axes that would mend it, if there is exactly one."""
    if fault.node < 0:
        return fault
    turns = followed(recipe, runs, turned=fault.node).turns
    wanted = known.rows[list(fault.rows)]
    mending = [axes for axes, row in turns if (np.abs(wanted - row).max(axis=1) <= known_steps.LIMIT).any()]
    return replace(fault, turn=mending[0]) if len(mending) == 1 else fault


def _known(recipe: Recipe, reference: Student | None, stage: Stage) -> known_steps.Known | None:
    """What correct code computes in a call: for visible tests it is stored, for hidden ones the reference shows it."""
    if reference is None:
        expected = assignment(stage.assignment).expected
        return known_steps.read(known_steps.stored_file(expected, stage.name), recipe.digest)
    from autograder.grading.named_steps import given_functions  # students have none

    chosen = assignment(stage.assignment)
    written = {path for one in chosen.stages for path in one.writes}
    return known_steps.known_from(followed(recipe, reference), (), given_functions(chosen), written)


def followed(
    recipe: Recipe,
    student: Student,
    limit: float | None = None,
    turned: int = -1,
    opposite: int = -1,
    earlier: bool = False,
) -> Trace:
    """The record of a call that a worker makes once more.

    Raises:
        StudentFault: if the call cannot be made.
        Unreadable: if what comes back is no record.
    """
    limit = limit or TRACE_SECONDS
    lengths = {name: text.count("\n") + 1 for name, text in own_files(student.code).items()}
    with student.aside(READY_SECONDS) as ask:
        ask({"do": "follow", "seconds": limit, "turned": turned, "opposite": opposite, "files": list(lengths)})
    with student.aside(2 * limit) as ask:
        recipe.repeat(lambda request, own: getattr(ask(request, body_of(own)), "_handle", None), earlier)
        return read_trace(ask({"do": "record"}), lengths)


def own_files(code: Code) -> dict[str, str]:
    """The texts of the modules of a stage, by the names of their files."""
    return {f"{module}.py": code.sources[module] for module in code.modules}


def with_finding(result: TestResult, finding: Finding, sources: Mapping[str, str]) -> TestResult:
    """A result with what follows from the trace."""
    beside, finding = sentences(finding, sources, named=True), with_others(finding)
    told = sentences(finding, sources)
    if not told:
        return result

    def mark(line: Line, state: str, steps: tuple[str, ...] = ()) -> LineMark:
        return LineMark(line.file, line.number, text_of(line, sources), state, steps)

    doubtful = finding.unsure if finding.raised else ()
    marks = [mark(line, "right", steps) for line, steps in finding.right if line not in doubtful]
    marks += [mark(fault.line, "wrong", (fault.missing,) if fault.missing else ()) for fault in finding.faults]
    marks += [mark(fault.either, "wrong") for fault in finding.faults if fault.either]
    marks += [mark(line, "after") for line in finding.after]
    step = finding.faults[0].missing if finding.faults else ""
    ordered = sorted(marks, key=lambda one: (one.file, one.line))
    beside_only = None if beside == told else beside
    return replace(result, pointed=told, pointed_beside=beside_only, marks=tuple(ordered), fault_step=step)
