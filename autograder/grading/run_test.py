"""Run one test of a stage and turn what happens into a result."""

import importlib
import time
import traceback
import unittest
from dataclasses import replace
from typing import Any

from autograder.diagnosis.compare_tensors import Incorrect
from autograder.grading.graded_case import StageTestCase
from autograder.grading.results import TestResult
from autograder.manifest import Stage, package_of
from autograder.sandbox.faults import Place, StudentFault


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


def run_test(name: str, case: StageTestCase, stage: Stage) -> tuple[TestResult, BaseException | None]:
    """Run one test. Gives back its result and the exception that ended it, if there was one.

    A hidden test that the known answers of the reference do not cover is run again with the reference itself.
    """
    started = time.monotonic()
    collector = Collector()
    case.checks = 0
    case.run(collector)
    result = TestResult(
        stage=stage.name,
        name=name,
        title=name,
        status="passed",
        points=stage.points[name],
        max_points=stage.points[name],
        hidden=case.hidden,
        printed=case.student.take_printed(),
        seconds=time.monotonic() - started,
    )
    error = collector.error
    if isinstance(error, Unanswered):
        case.answers = None
        return run_test(name, case, stage)
    if error is None:
        return result, None
    result = replace(result, points=0)
    if isinstance(error, StudentFault):
        details = [f"called    {error.call}"] if error.call else []
        details += [_line(place) for place in error.where[-3:]]
        return replace(result, status=error.status, message=error.message, details=tuple(details)), error
    if isinstance(error, Incorrect):
        details = [f"called    {error.call}", *error.wrong.details]
        return replace(result, status="failed", message=error.wrong.message, details=tuple(details)), error
    lines = "".join(traceback.format_exception(error)).splitlines()
    message = f"the grader failed: {type(error).__name__}: {error}"
    return replace(result, status="fault", message=message, details=tuple(lines)), error


def _line(place: Place) -> str:
    function = f" in {place.function}" if place.function and not place.function.startswith("<") else ""
    return f"{place.file}, line {place.line}{function}: {place.text}"
