"""Fault localisation: after a failed test, find the faulty line by comparing values, and prove it by repeating calls.

`localize` is the pipeline. It records the failed call, aligns its values with those of correct code, flags the lines
that compute a wrong value from correct inputs, and tries small edits there. It reports only what the evidence supports.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.diagnosis.compare_tensors import Incorrect
from autograder.diagnosis.line_verdict import Confidence, LineVerdict
from autograder.localization import reruns
from autograder.localization.arbitrate import Diagnosis, arbitrate
from autograder.localization.case import Case
from autograder.localization.edits.candidates import SmallChange, small_changes
from autograder.localization.edits.harmless import harmless
from autograder.localization.render import rendered
from autograder.localization.repair import RepairSearch
from autograder.localization.replay import followed, own_files, reference_trace
from autograder.localization.source import Source
from autograder.localization.suspects import find_suspects
from autograder.localization.trace import Line, Unreadable
from autograder.manifest import Stage
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.last_call import KEPT
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.student_faults import Raised, StudentFault

__all__ = ["Failure", "SmallChange", "harmless", "localize", "localize_warning", "small_changes"]
FAULTS = (StudentFault, Unreadable, LookupError)  # raised if a call cannot be repeated


@dataclass(frozen=True)
class Failure:
    """A failed test, or a warning from a test that passes."""

    test: str
    error: BaseException | None
    student: Student
    reference: Student | None = None  # runs the reference with named steps, for a hidden test
    further: Callable[[Student, bool], tuple[bool, str]] | None = None  # see `Case`


def localize(
    stage: Stage, failures: Sequence[Failure], passing: Mapping[str, Callable[[Student], bool]]
) -> dict[str, LineVerdict]:
    """The verdicts on the lines that made a stage's tests fail.

    Args:
        passing: the tests that pass, each with a function that reruns it with a different `Student`.
    """
    verdicts: dict[str, LineVerdict] = {}
    cases: list[tuple[Case, Failure]] = []
    for failure in failures:
        source, diagnosis = _source(failure), None
        try:
            diagnosis = _repeated(failure, stage, source)
            if diagnosis is None and (case := _case(failure, stage)):
                cases.append((case, failure))
        except FAULTS:
            continue
        if diagnosis:
            verdicts[failure.test] = rendered(diagnosis, None, source)
    return verdicts | _by_values(cases, passing)


def _by_values(
    cases: Sequence[tuple[Case, Failure]], passing: Mapping[str, Callable[[Student], bool]]
) -> dict[str, LineVerdict]:
    verdicts: dict[str, LineVerdict] = {}
    search = RepairSearch(passing)
    try:
        # Cheap calls first: their repairs are tried on the others.
        ordered = sorted(cases, key=lambda pair: pair[0].trace.ending.ran)
        for number, (case, failure) in enumerate(ordered):
            suspected = find_suspects(case.alignment, case.source)
            share = len({later.recipe.digest for later, _ in ordered[number:]})
            # A return would draw the search to the end of the code: it only supports a repair.
            start = [suspect for suspect in suspected if suspect.kind != "return"]
            diagnosis = arbitrate(suspected, search.repairs(case, start, min(share, 3)))
            verdicts[case.test] = rendered(diagnosis or _of_form(case, failure.error), case, case.source)
    finally:
        search.close()
    return verdicts


def localize_warning(stage: Stage, warnings: Sequence[Failure]) -> LineVerdict | None:
    """The verdict for the first warning for which the faulty line is known."""
    for failure in warnings:
        source = _source(failure)
        try:
            if isinstance(failure.error, Incorrect) and "gradient" in failure.error.wrong.message:
                diagnosis = _gradient(failure, source)
            else:
                diagnosis = _repeated(failure, stage, source)
                if diagnosis is None and (case := _case(failure, stage)):
                    diagnosis = arbitrate(find_suspects(case.alignment, source), [])
        except FAULTS:
            continue
        if diagnosis:
            return rendered(diagnosis, None, source)
    return None


def _source(failure: Failure) -> Source:
    recipe = getattr(failure.error, "recipe", None)
    return Source(own_files(recipe.code if recipe else failure.student.code))


def _case(failure: Failure, stage: Stage) -> Case | None:
    error = failure.error
    recipe = error.recipe if isinstance(error, (Incorrect, Raised)) else None
    known = reference_trace(recipe, failure.reference, stage) if recipe else None
    if recipe is None or known is None:
        return None
    student = _student(failure, recipe)
    try:
        trace = followed(recipe, student)
        if (
            not trace.ending.results and trace.ending.raised is None and recipe.earlier
        ):  # it returned values kept from an earlier call
            trace = followed(recipe, student, earlier=True)
    finally:
        _end(student, failure)
    actual = error.actual if isinstance(error, Incorrect) else None
    whole = isinstance(actual, np.ndarray) and actual.dtype.kind in "iu"
    source = Source(own_files(recipe.code), known.given)
    return Case(
        failure.test, recipe, failure.student, trace, known, source, isinstance(error, Raised), whole, failure.further
    )


def _student(failure: Failure, recipe: CallReplay) -> Student:
    return failure.student if recipe.code is failure.student.code else failure.student.with_code(recipe.code)


def _end(student: Student, failure: Failure) -> None:
    if student is not failure.student:
        student.close()


def _repeated(failure: Failure, stage: Stage, source: Source) -> Diagnosis | None:
    """From the test's error, diagnose faults that values do not reveal."""
    error = failure.error
    if not isinstance(error, (Incorrect, Raised)) or (recipe := error.recipe) is None:
        return None
    student = _student(failure, recipe)
    try:
        if isinstance(error, Raised):
            if KEPT not in error.message:
                return None
            lines = reruns.kept_lines(followed(recipe, student), followed(recipe, student, earlier=True))
            return _claim(lines, "kept")
        if unsteady := _unsteady(error):
            first = followed(recipe, student)
            if unsteady == "random":
                return _claim(reruns.random_lines(first, followed(recipe, student)), "random")
            if unsteady == "unfilled":
                return _claim(reruns.unfilled_lines(first), "unfilled")
            return _claim(reruns.kept_lines(first, followed(recipe, student, earlier=True)), "kept")
        if error.changes:
            return _claim(reruns.argument_lines(followed(recipe, student), source), "argument", error.changes)
        if error.made_by and not error.operation:
            return _claim(
                reruns.using_lines(followed(recipe, student), error.made_by), "output", " and ".join(error.made_by)
            )
        if error.operation and not error.made_by:
            return _claim(
                reruns.operation_lines(followed(recipe, student), error.operation), "misplaced", error.operation
            )
        if error.operation and (known := reference_trace(recipe, failure.reference, stage)):
            trace = followed(recipe, student)
            lines = reruns.misplaced_lines(trace, known, error.made_by, error.operation)
            return _claim(lines, "misplaced", error.operation)
        return None
    finally:
        _end(student, failure)


def _unsteady(error: Incorrect) -> str:
    """The reason why a call is not reproducible, according to the test: "random", "unfilled" or "kept"; else ""."""
    message = " ".join((error.wrong.message, *error.wrong.details))
    if not message.startswith(("two calls with the same inputs", "the result depends on earlier calls")):
        return ""
    return "kept" if message.startswith("the result") else "unfilled" if "without values" in message else "random"


def _gradient(failure: Failure, source: Source) -> Diagnosis | None:
    recipe = getattr(failure.error, "recipe", None)
    if recipe is None:
        return None
    student = _student(failure, recipe)
    try:
        lines, claim = reruns.graph_lines(followed(recipe, student), dict(source.texts))
    finally:
        _end(student, failure)
    return _claim(lines, claim)


def _of_form(case: Case, error: BaseException | None) -> Diagnosis | None:
    """Diagnose a result that has correct values but the wrong type."""
    message = error.wrong.message if isinstance(error, Incorrect) else ""
    if message.endswith(": wrong dtype"):
        return _claim(reruns.making_lines(case.trace), "dtype")
    if message.endswith(": wrong type"):
        return _claim(reruns.returning_lines(case.trace), "type")
    return None


def _claim(lines: tuple[Line, ...], claim: str, name: str = "") -> Diagnosis | None:
    confidence = Confidence.PROBABLE if len(lines) == 1 else Confidence.POSSIBLE
    return Diagnosis(lines, confidence, claim=claim, name=name) if lines else None
