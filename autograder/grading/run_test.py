"""Run one test of a stage and turn the outcome into a result."""

import importlib
import time
import traceback
import unittest
from collections.abc import Mapping
from typing import Any

from autograder.diagnosis.compare_tensors import Incorrect
from autograder.grading.graded_case import MINOR, StageTestCase, is_minor
from autograder.grading.results import NOT_JUDGED, PartResult, StageResult, TestResult
from autograder.grading.text_budget import within_budget
from autograder.manifest import Stage, package_of
from autograder.sandbox.last_call import KEPT
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import Forbidden, NotStarted, Place, Raised, StudentFault, needs_booleans
from autograder.submissions.stage_with_standins import with_standins

Outcome = tuple[BaseException | None, int]  # the error that ended a part, and the number of checks up to that point
NO_BOOLEANS = "A mask may consist of the numbers 0 and 1. Here booleans are needed: mask != 0, or mask.bool()."
# For warnings: whether the hidden test of the same name grades them.
GRADED = {
    True: "This test does not grade it, but your instructor's hidden tests may.",
    False: "Nobody grades this: it costs no points.",
}


class Unanswered(Exception):
    """A hidden test queries the reference for a result that the known answers do not contain."""


class Collector(unittest.TestResult):
    """Keeps the exception raised by a single test."""

    error: BaseException | None = None

    def addError(self, test, err):  # type: ignore[no-untyped-def]
        self.error = self.error or err[1]

    addFailure = addError

    def addSubTest(self, test, subtest, err):  # type: ignore[no-untyped-def]
        if err is not None:
            self.error = self.error or err[1]

    def addSkip(self, test, reason):  # type: ignore[no-untyped-def]
        self.error = self.error or RuntimeError(f"a graded test was skipped: {reason}")


def stage_tests(stage: Stage, hidden: bool = False) -> dict[str, StageTestCase]:
    """The visible or the hidden tests of a stage by name, in teaching order.

    Raises:
        LookupError: if the manifest and the test module do not name the same tests.
    """
    kind = "hidden" if hidden else "visible"
    module = importlib.import_module(f"{package_of(stage.assignment)}.{kind}.{stage.tests}")
    suite: Any = unittest.defaultTestLoader.loadTestsFromModule(module)
    tests = {case._testMethodName: case for cases in suite for case in cases}
    if set(tests) != set(stage.points):
        raise LookupError(f"the manifest and {module.__name__} do not name the same tests")
    for case in tests.values():
        case.stage = stage
    return {name: tests[name] for name in stage.points}


def run_test(
    name: str, case: StageTestCase, stage: Stage, alone: bool = False
) -> tuple[TestResult, BaseException | None]:
    """Run one test. Return the test's result, and the exception that ended the test or its first failed part, if any.

    A slip costs points only once: if a function fails, it is graded again with stand-ins for the functions of its stage
    that it calls. A test with warnings is repeated in the same way. A hidden test that needs more than the reference's
    known answers is run again with the reference itself. Afterwards, `case.checks` is the number of the failed check.

    Args:
        alone: whether to run the student's own code without stand-ins.
    """
    started = time.monotonic()
    worth = stage.parts.get(name, {})
    error, printed = _outcome(case)
    outcomes, ended, own_warnings = dict(case.outcomes), _of_parts(case, error, worth), case.warnings
    wrong = {part: stage.graded_by(name, part) for part, (part_error, _) in ended.items() if part_error is not None}
    refused = any(isinstance(part_error, Forbidden) for part_error, _ in ended.values())  # such code is not a slip
    if _no_fault(error) and not alone and not refused:
        for function in dict.fromkeys(wrong.values()):
            used = stage.uses.get(function, ())
            ends = [ended[part][0] for part in wrong if wrong[part] == function]
            if used and not case.student.import_failure and not all(_unwritten(end, used) for end in ends):
                new_error, more = _with_code(case, with_standins(case.student.code, stage, used))
                again = _of_parts(case, new_error, worth)
                doubted = {*case.doubted, *wrong.values()} & {*used}  # else the tests of `used` show the failure better
                improved = [part for part in wrong if wrong[part] == function and (doubted or not again[part][0])]
                if improved:
                    error, printed = new_error, printed + more
                ended |= {part: again[part] for part in improved}
                outcomes |= {part: case.outcomes[part] for part in improved if part in case.outcomes}
                if {*used} & {stage.graded_by(name, part) for part in worth}:
                    case.warnings = own_warnings  # about what the stand-ins replace
        elsewhere = stage.used_by(name) if case.warnings and not wrong else ()
        if elsewhere:  # is the warning graded elsewhere?
            passing = case.checks, case.outcomes, case.warnings
            again_error, more = _with_code(case, with_standins(case.student.code, stage, elsewhere))
            printed += more
            if any(part_error for part_error, _ in _of_parts(case, again_error, worth).values()):
                case.checks, case.outcomes, case.warnings = passing
    case.outcomes = outcomes
    last = error, case.checks  # a failure after all parts costs nothing, but is reported
    faults = (outcome for outcome in ended.values() if not _no_fault(outcome[0]))
    error, case.checks = next(faults, next((outcome for outcome in ended.values() if outcome[0]), last))
    if isinstance(error, Unanswered):
        case.answers = None
        return run_test(name, case, stage, alone)
    graded = {stage.graded_by(name, part) for part in worth or ("",)}
    if {*case.doubted} & {
        *graded,
        *(used_function for function in graded for used_function in stage.uses.get(function, ())),
    }:
        case.warnings = []  # their cause has already failed a check
    status, message, details = _described(error)
    if error is None and case.warnings:
        lines = [line for graded in (True, False) for line in _warned(case, graded)]
        message, details = "".join(lines[:1]).replace("and:", "passes, but:", 1), tuple(lines[1:])
    earns = sum(earned(ended[part][0], points) for part, points in (worth or {"": stage.points[name]}).items())
    if _no_fault(error) and error is not None and earns == stage.points[name]:  # failed after everything that is graded
        status, message = "passed", f"passes, but: {message}"
    first: dict[int, str] = {}  # exception id -> the first part that it ended, which later parts need
    for part, (part_error, _) in outcomes.items():
        first.setdefault(id(part_error), part)
    parts = tuple(
        _part(part, (ending := ended[part][0]), points, case.hidden, first.get(id(ending), part))
        for part, points in worth.items()
    )
    result = TestResult(
        stage=stage.name,
        name=name,
        title=name,
        status=status,
        points=sum(part.points for part in parts) if parts else earned(error, stage.points[name]),
        max_points=stage.points[name],
        message=message,
        details=details,
        short=_short(error),
        hidden=case.hidden,
        printed=printed,
        seconds=time.monotonic() - started,
        parts=parts,
        places=_places(error),
    )
    return within_budget(result), error


def _warned(case: StageTestCase, graded: bool) -> list[str]:
    """Return lines with new warnings, and a sentence that says whether hidden tests deduct points (`graded`)."""
    calls: dict[str, tuple[str, ...]] = {}  # message -> lines, of the first call with this warning
    before = frozenset(case.already_warned or ())
    for error, _ in (warning for warning in case.warnings if warning.graded == graded):
        _, text, shown = _described(error)
        if text in before:
            continue
        if case.already_warned is not None:
            case.already_warned.add(text)
        last = shown[1:] if isinstance(error, StudentFault) else shown[1:3]
        kept = (KEPT,) if KEPT in text else ()
        calls.setdefault(text.partition("\n")[0][:200], (*kept, *shown[:1], *last))
    new_lines = [line for text, lines in calls.items() for line in (f"and: {text}", *lines)]
    return [*new_lines, GRADED[graded]] if new_lines else []


def fault(stage: Stage, name: str, error: BaseException, hidden: bool = False) -> TestResult:
    """Return the result of a test whose outcome is unknown because the grader itself failed."""
    status, message, details = _described(error)
    worth = stage.points[name]
    return within_budget(TestResult(stage.name, name, name, status, 0, worth, message, details, hidden=hidden))


def faulty_stage(stage: Stage, error: BaseException) -> StageResult:
    """Return the result of a stage in which the grader raised an exception."""
    tests = tuple(fault(stage, name, error) for name in stage.points)
    return StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tests)


def _outcome(case: StageTestCase) -> tuple[BaseException | None, str]:
    """Run a test once; return the error that ended it, and its output. `case` keeps the outcomes of its parts."""
    collector = Collector()
    case.checks, case.outcomes, case.warnings, case.side_effect = 0, {}, [], None
    case.run(collector)
    case.note_recipe(collector.error)
    return collector.error or case.side_effect, case.student.take_printed()


def _with_code(case: StageTestCase, code: Code) -> tuple[BaseException | None, str]:
    """Run a test once with different code, in its own worker."""
    student = case.student
    case.student = student.with_code(code)
    try:
        return _outcome(case)
    finally:
        case.student.close()
        case.student = student


def _of_parts(case: StageTestCase, error: BaseException | None, worth: Mapping[str, float]) -> dict[str, Outcome]:
    """Return the outcome of each part of a test; a test without parts has one outcome, named "".

    An error that ended the test applies to all parts that were not run; a fault of the grader applies to every part.
    """
    missing = sorted(worth.keys() - case.outcomes.keys())
    if missing and error is None and case.few is None and not case.hidden:
        error = LookupError(f"{case.id()} has no part {', '.join(missing)}, which the manifest names")
    known = case.outcomes if _no_fault(error) else {}
    return {part: known.get(part, (error, case.checks)) for part in worth or ("",)}


FEW = 2  # stored sentences for tests that take a long time


def gets_further(
    case: StageTestCase, error: BaseException, checks: int, student: Student, to_its_end: bool = False
) -> tuple[bool, str]:
    """Check whether a test gets past its failed check with a different `Student`. `case` is restored afterwards.

    If a smaller call fails in the same way, the test uses only a few sentences.

    Args:
        error: the error that ended the test, or that of its first failed part.
        checks: the number of the failed check.
        to_its_end: whether all later checks, and all parts that failed in the same way, must pass too.

    Returns:
        Whether it passes, and the name of a part that passed before and now fails, or "".
    """
    before, results_before, few = case.student, (case.checks, case.outcomes, case.warnings), case.few
    part = next((name for name, (part_error, _) in case.outcomes.items() if part_error is error), "")
    case.student = student
    if isinstance(error, (Incorrect, StudentFault)) and error.smaller is not None:
        case.few = FEW
    try:
        outcome, _ = _outcome(case)
        now, reached = case.outcomes.get(part, (outcome, case.checks))
        passes = now is None or (isinstance(now, Incorrect) and reached > checks and not to_its_end)
        alike = [
            name
            for name, (was, _) in results_before[1].items()
            if to_its_end and _described(was)[:2] == _described(error)[:2]
        ]
        passes = passes and not any(case.outcomes.get(name, (None, 0))[0] for name in alike)
        passed = {name for name, (part_error, _) in results_before[1].items() if part_error is None}
        breaks = next((name for name, (part_error, _) in case.outcomes.items() if name in passed and part_error), "")
        return passes, breaks
    finally:
        case.student, case.few = before, few
        case.checks, case.outcomes, case.warnings = results_before


def passes(case: StageTestCase, student: Student) -> bool:
    """Whether a test passes, or has an unknown outcome, with a different `Student`. `case` is restored afterwards."""
    before, results_before = case.student, (case.checks, case.outcomes, case.warnings)
    case.student = student
    try:
        error, _ = _outcome(case)
        ended = [error, *(part_error for part_error, _ in case.outcomes.values())]
        return not any(isinstance(part_error, (Incorrect, Raised)) for part_error in ended)
    finally:
        case.student = before
        case.checks, case.outcomes, case.warnings = results_before


def _unwritten(error: BaseException | None, used: tuple[str, ...]) -> bool:
    """Whether an unwritten function outside `used` ended the test, so that stand-ins for `used` would not help."""
    names = {path.rpartition(".")[2] for path in used}
    return isinstance(error, NotStarted) and names.isdisjoint(
        place.function.rpartition(".")[2] for place in error.where
    )


def _no_fault(error: BaseException | None) -> bool:
    """Whether a test ended without a failure of the grader itself."""
    return error is None or isinstance(error, (Incorrect, StudentFault))


def _part(name: str, error: BaseException | None, points: float, hidden: bool, first: str) -> PartResult:
    status, message, _ = _described(error)
    message = message if error is None or first == name else f"{NOT_JUDGED}, since it needs: {first}"
    return PartResult(name, status, earned(error, points), points, message, hidden)


def earned(error: BaseException | None, points: float) -> float:
    """Return the points of a test or part with this outcome."""
    return points if error is None else round((1 - MINOR) * points, 2) if is_minor(error) else 0


def _described(error: BaseException | None) -> tuple[str, str, tuple[str, ...]]:
    """Return the status, message and details of an outcome."""
    if error is None:
        return "passed", "", ()
    if isinstance(error, StudentFault):
        details = [f"called    {error.call}"] if error.call else []
        # The first line, where a wrong call may have begun, and the last three.
        details += [_line(place) for place in (*error.where[:-3][:1], *error.where[-3:])]
        details += [f"shapes    {place.shapes}" for place in error.where[-1:] if place.shapes]
        details += [NO_BOOLEANS] if needs_booleans(error) else []
        return error.status, error.message, tuple(details)
    if isinstance(error, Incorrect):
        return "failed", error.wrong.message, (f"called    {error.call}", *error.wrong.details)
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "fault", f"the grader failed: {type(error).__name__}: {error}", tuple(lines)


def _short(error: BaseException | None) -> str:
    """Return the details of an outcome in one line: the numbers, or the line that raised an exception."""
    if isinstance(error, Incorrect):
        return error.wrong.short
    return _line(error.where[-1]) if isinstance(error, StudentFault) and error.where else ""


def _places(error: BaseException | None) -> tuple[tuple[str, int], ...]:
    """Return the line of the student's code at which an exception ended a test."""
    where = error.where[-1:] if isinstance(error, StudentFault) else ()
    return tuple((place.file, place.line) for place in where if place.line)


def _line(place: Place) -> str:
    function = f" in {place.function}" if place.function and not place.function.startswith("<") else ""
    return f"{place.file}:{place.line}{function}: {place.text}"
