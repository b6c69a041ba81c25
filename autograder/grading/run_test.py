"""Run one test of a stage and turn what happens into a result."""

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
from autograder.sandbox.student_faults import Forbidden, Place, Raised, StudentFault, needs_booleans
from autograder.submissions.stage_with_standins import with_standins

Outcome = tuple[BaseException | None, int]  # what ended a part, and the number of checks until then
NO_BOOLEANS = "A mask may come as numbers, 0 and 1. Here booleans are needed: mask != 0, or mask.bool()."
# Of warnings: whether the hidden test of the same name grades them.
GRADED = {
    True: "This test does not grade it, but your instructor's hidden tests do.",
    False: "Nobody grades this: it costs no points.",
}


class Unanswered(Exception):
    """A hidden test asks the reference for something that is not among its known answers."""


class Collector(unittest.TestResult):
    """Keeps the exception of the one test that is run."""

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
    found = {case._testMethodName: case for cases in suite for case in cases}
    if set(found) != set(stage.points):
        raise LookupError(f"the manifest and {module.__name__} do not name the same tests")
    for case in found.values():
        case.stage = stage
    return {name: found[name] for name in stage.points}


def run_test(
    name: str, case: StageTestCase, stage: Stage, alone: bool = False
) -> tuple[TestResult, BaseException | None]:
    """Run one test. Gives back its result and the exception that ended it or its first part that failed, if any did.

    A function is graded with everything else of its stage in order: what fails is run again with stand-ins for what the
    function uses of its stage, since a slip costs once. So is a test that warns of something. A hidden test that the
    known answers of the reference do not cover is run again with the reference itself. `case.checks` is then the number
    of the check that failed.

    Args:
        alone: whether the student's own code must do without stand-ins.
    """
    started = time.monotonic()
    worth = stage.parts.get(name, {})
    error, printed = _outcome(case)
    tried, ended = dict(case.outcomes), _of_parts(case, error, worth)
    wrong = {part: stage.graded_by(name, part) for part, (found, _) in ended.items() if found is not None}
    refused = any(isinstance(found, Forbidden) for found, _ in ended.values())  # which is no slip
    if _is_own(error) and not alone and not refused:
        for function in dict.fromkeys(wrong.values()):
            if (used := stage.uses.get(function)) and not case.student.import_failure:
                behind, more = _with_code(case, with_standins(case.student.code, stage, used))
                again = _of_parts(case, behind, worth)
                doubted = {*case.doubted, *wrong.values()} & {*used}  # else its own code shows the same, better
                own = [part for part in wrong if wrong[part] == function and (doubted or not again[part][0])]
                if own:
                    error, printed = behind, printed + more
                ended |= {part: again[part] for part in own}
                tried |= {part: case.outcomes[part] for part in own if part in case.outcomes}
        elsewhere = stage.used_by(name) if case.warnings and not wrong else ()
        if elsewhere:  # is what it warns of graded elsewhere?
            passing = case.checks, case.outcomes, case.warnings
            again_error, more = _with_code(case, with_standins(case.student.code, stage, elsewhere))
            printed += more
            if any(found for found, _ in _of_parts(case, again_error, worth).values()):
                case.checks, case.outcomes, case.warnings = passing
    case.outcomes = tried
    last = error, case.checks  # what failed behind all parts costs nothing, but is told
    faults = (found for found in ended.values() if not _is_own(found[0]))
    error, case.checks = next(faults, next((found for found in ended.values() if found[0]), last))
    if isinstance(error, Unanswered):
        case.answers = None
        return run_test(name, case, stage, alone)
    graded = {stage.graded_by(name, part) for part in worth or ("",)}
    if {*case.doubted} & {*graded, *(one for function in graded for one in stage.uses.get(function, ()))}:
        case.warnings = []  # of what has failed already
    status, message, details = _told(error)
    if error is None and case.warnings:
        told = [line for graded in (True, False) for line in _warned(case, graded)]
        message, details = "".join(told[:1]).replace("and:", "passes, but:", 1), tuple(told[1:])
    earns = sum(earned(ended[part][0], points) for part, points in (worth or {"": stage.points[name]}).items())
    if _is_own(error) and error is not None and earns == stage.points[name]:  # behind all that is graded
        status, message = "passed", f"passes, but: {message}"
    first: dict[int, str] = {}  # the first part that an exception ended, by its id; those behind it needed that part
    for part, (found, _) in tried.items():
        first.setdefault(id(found), part)
    parts = tuple(
        _part(part, (over := ended[part][0]), points, case.hidden, first.get(id(over), part))
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
    """The lines of the new warnings that the hidden test grades, or of the others, and whether it does."""
    calls: dict[str, tuple[str, ...]] = {}  # of the same warning in two calls, the first
    before = frozenset(case.told or ())
    for error, _ in (warning for warning in case.warnings if warning.graded == graded):
        _, text, shown = _told(error)
        if text in before:
            continue
        if case.told is not None:
            case.told.add(text)
        last = shown[1:] if isinstance(error, StudentFault) else shown[1:3]
        kept = (KEPT,) if KEPT in text else ()
        calls.setdefault(text.partition("\n")[0][:200], (*kept, *shown[:1], *last))
    told = [line for text, lines in calls.items() for line in (f"and: {text}", *lines)]
    return [*told, GRADED[graded]] if told else []


def fault(stage: Stage, name: str, error: BaseException, hidden: bool = False) -> TestResult:
    """The result of a test whose outcome nobody knows, since the grader itself has failed."""
    status, message, details = _told(error)
    worth = stage.points[name]
    return within_budget(TestResult(stage.name, name, name, status, 0, worth, message, details, hidden=hidden))


def faulty_stage(stage: Stage, error: BaseException) -> StageResult:
    """The result of a stage from which an exception has escaped."""
    tests = tuple(fault(stage, name, error) for name in stage.points)
    return StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tests)


def _outcome(case: StageTestCase) -> tuple[BaseException | None, str]:
    """Run a test once: what ended it, and what was printed. `case` has the outcomes of its parts."""
    collector = Collector()
    case.checks, case.outcomes, case.warnings, case.side_effect = 0, {}, [], None
    case.run(collector)
    case.note_recipe(collector.error)
    return collector.error or case.side_effect, case.student.take_printed()


def _with_code(case: StageTestCase, code: Code) -> tuple[BaseException | None, str]:
    """The same with other code, in a worker of its own."""
    own = case.student
    case.student = own.with_code(code)
    try:
        return _outcome(case)
    finally:
        case.student.close()
        case.student = own


def _of_parts(case: StageTestCase, error: BaseException | None, worth: Mapping[str, float]) -> dict[str, Outcome]:
    """What ended each part of a test, or, by the name "", a test without parts.

    What ended the whole test ended all parts that had not been tried; a fault of the grader says nothing about any.
    """
    missing = sorted(worth.keys() - case.outcomes.keys())
    if missing and error is None and case.few is None and not case.hidden:
        error = LookupError(f"{case.id()} has no part {', '.join(missing)}, which the manifest names")
    known = case.outcomes if _is_own(error) else {}
    return {part: known.get(part, (error, case.checks)) for part in worth or ("",)}


FEW = 2  # stored sentences, where a test takes long


def gets_further(
    case: StageTestCase, error: BaseException, checks: int, student: Student, to_its_end: bool = False
) -> tuple[bool, str]:
    """Whether a test that failed passes, with another student, the check that failed. `case` is left as it is.

    A test whose call has a smaller one looks at a few sentences only.

    Args:
        error: what ended the test, or its first part that failed.
        checks: the number of that check.
        to_its_end: whether all checks behind that one have to be passed, too, and the parts that failed alike.

    Returns:
        whether it does, and a part of the test that passed before and fails with that student.
    """
    own, kept, few = case.student, (case.checks, case.outcomes, case.warnings), case.few
    part = next((name for name, (found, _) in case.outcomes.items() if found is error), "")
    case.student = student
    if isinstance(error, (Incorrect, StudentFault)) and error.smaller is not None:
        case.few = FEW
    try:
        outcome, _ = _outcome(case)
        now, reached = case.outcomes.get(part, (outcome, case.checks))
        passes = now is None or (isinstance(now, Incorrect) and reached > checks and not to_its_end)
        alike = [name for name, (found, _) in kept[1].items() if to_its_end and _told(found)[:2] == _told(error)[:2]]
        passes = passes and not any(case.outcomes.get(name, (None, 0))[0] for name in alike)
        passed = {name for name, (found, _) in kept[1].items() if found is None}
        breaks = next((name for name, (found, _) in case.outcomes.items() if name in passed and found), "")
        return passes, breaks
    finally:
        case.student, case.few = own, few
        case.checks, case.outcomes, case.warnings = kept


def passes(case: StageTestCase, student: Student) -> bool:
    """Whether a test passes with another student, or it is not known. `case` is left as it is."""
    own, kept = case.student, (case.checks, case.outcomes, case.warnings)
    case.student = student
    try:
        error, _ = _outcome(case)
        ended = [error, *(one for one, _ in case.outcomes.values())]
        return not any(isinstance(one, (Incorrect, Raised)) for one in ended)
    finally:
        case.student = own
        case.checks, case.outcomes, case.warnings = kept


def _is_own(error: BaseException | None) -> bool:
    """Whether a test ended without a fault of the grader."""
    return error is None or isinstance(error, (Incorrect, StudentFault))


def _part(name: str, error: BaseException | None, points: float, hidden: bool, first: str) -> PartResult:
    status, message, _ = _told(error)
    message = message if error is None or first == name else f"{NOT_JUDGED}, since it needs: {first}"
    return PartResult(name, status, earned(error, points), points, message, hidden)


def earned(error: BaseException | None, points: float) -> float:
    """What a test or a part earns that ended so."""
    return points if error is None else round((1 - MINOR) * points, 2) if is_minor(error) else 0


def _told(error: BaseException | None) -> tuple[str, str, tuple[str, ...]]:
    """The status, the message and the details of what ended a test."""
    if error is None:
        return "passed", "", ()
    if isinstance(error, StudentFault):
        details = [f"called    {error.call}"] if error.call else []
        # Where it began, which may be what called something wrongly, and where it ended.
        details += [_line(place) for place in (*error.where[:-3][:1], *error.where[-3:])]
        details += [f"shapes    {place.shapes}" for place in error.where[-1:] if place.shapes]
        details += [NO_BOOLEANS] if needs_booleans(error) else []
        return error.status, error.message, tuple(details)
    if isinstance(error, Incorrect):
        return "failed", error.wrong.message, (f"called    {error.call}", *error.wrong.details)
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "fault", f"the grader failed: {type(error).__name__}: {error}", tuple(lines)


def _short(error: BaseException | None) -> str:
    """The details of what ended a test in one line: the numbers, or the line that raised an exception."""
    if isinstance(error, Incorrect):
        return error.wrong.short
    return _line(error.where[-1]) if isinstance(error, StudentFault) and error.where else ""


def _places(error: BaseException | None) -> tuple[tuple[str, int], ...]:
    """The line of the student's code at which an exception ended a test."""
    where = error.where[-1:] if isinstance(error, StudentFault) else ()
    return tuple((place.file, place.line) for place in where if place.line)


def _line(place: Place) -> str:
    function = f" in {place.function}" if place.function and not place.function.startswith("<") else ""
    return f"{place.file}:{place.line}{function}: {place.text}"
