"""Grade a submission: run the tests of each stage against a worker and turn what happens into results."""

import importlib
import time
import traceback
import unittest
from collections.abc import Callable, Iterable
from dataclasses import replace

from autograder.manifest import Assignment, Stage
from autograder.process import Workers
from autograder.results import Report, StageResult, TestResult
from autograder.student import Place, Student, StudentFault, is_dtype_conflict
from autograder.submission import Submission, code_of_stage
from autograder.testcase import Incorrect, StageTestCase


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


def stage_tests(stage: Stage, package: str = "autograder.visible") -> dict[str, StageTestCase]:
    """The tests of a stage by name, in teaching order.

    Raises:
        LookupError: if the manifest and the test module do not name the same tests.
    """
    module = importlib.import_module(f"{package}.{stage.tests}")
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    found = {case._testMethodName: case for cases in suite for case in cases}  # type: ignore[union-attr]
    if set(found) != set(stage.points):
        raise LookupError(f"the manifest and {module.__name__} do not name the same tests")
    return {name: found[name] for name in stage.points}  # type: ignore[misc]


def grade(
    submission: Submission,
    assignment: Assignment,
    workers: Workers,
    stages: Iterable[Stage] | None = None,
    on_stage: Callable[[StageResult], None] = lambda stage: None,
) -> Report:
    """Grade the stages of a submission, each in a worker of its own.

    Args:
        stages: the stages to grade; None means all.
        on_stage: called with each stage as soon as it is graded.
    """
    started = time.monotonic()
    reported: dict[str, str] = {}
    results = []
    for stage in assignment.stages if stages is None else stages:
        results.append(grade_stage(submission, stage, assignment, workers, reported))
        on_stage(results[-1])
    return Report(assignment.title, submission.name, tuple(results), time.monotonic() - started)


def grade_stage(
    submission: Submission, stage: Stage, assignment: Assignment, workers: Workers, reported: dict[str, str]
) -> StageResult:
    """Grade one stage. A module that cannot be imported is added to `reported`."""
    code = code_of_stage(submission, stage, assignment, reported)
    student = Student(workers, code)
    tests = []
    try:
        for name, case in stage_tests(stage).items():
            result, fault = run_test(name, case, stage, student)
            if fault is not None and is_dtype_conflict(fault):
                # Code that computes a part in float32 is right in the students' own float32.
                float32 = Student(workers, code, dtype="float32")
                try:
                    result, _ = run_test(name, case, stage, float32)
                finally:
                    float32.close()
            tests.append(result)
    finally:
        student.close()
    if student.import_failure:
        reported[student.import_failure] = stage.name
    return StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tuple(tests))


def run_test(
    name: str, case: StageTestCase, stage: Stage, student: Student
) -> tuple[TestResult, StudentFault | None]:
    """Run one test; if the student's code gave no result, its fault is given back too."""
    started = time.monotonic()
    collector = Collector()
    case.student = student
    case.run(collector)
    result = TestResult(
        stage=stage.name,
        name=name,
        title=case.shortDescription() or name,
        status="passed",
        points=stage.points[name],
        max_points=stage.points[name],
        printed=student.take_printed(),
        seconds=time.monotonic() - started,
    )
    error = collector.error
    if error is None:
        return result, None
    result = replace(result, points=0)
    if isinstance(error, StudentFault):
        details = [f"called    {error.call}"] if error.call else []
        details += [_line(place) for place in error.where[-3:]]
        return replace(result, status=error.status, message=error.message, details=tuple(details)), error
    if isinstance(error, Incorrect):
        details = [f"called    {error.call}", *error.wrong.details]
        return replace(result, status="failed", message=error.wrong.message, details=tuple(details)), None
    lines = "".join(traceback.format_exception(error)).splitlines()
    message = f"the grader failed: {type(error).__name__}: {error}"
    return replace(result, status="fault", message=message, details=tuple(lines)), None


def _line(place: Place) -> str:
    function = f" in {place.function}" if place.function and not place.function.startswith("<") else ""
    return f"{place.file}, line {place.line}{function}: {place.text}"
