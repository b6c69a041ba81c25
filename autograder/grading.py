"""Grade a submission: run the tests of each stage against a worker and turn what happens into results."""

import importlib
import itertools
import time
import traceback
import unittest
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from autograder.diagnosis import Signature, diagnose, hints, known_signatures, signature
from autograder.manifest import Assignment, Stage
from autograder.process import Workers
from autograder.results import Report, StageResult, TestResult
from autograder.student import Place, Student, StudentFault, is_dtype_conflict
from autograder.submission import Submission, code_of_stage, read_submission
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
    hidden_seed: int | None = None,
) -> Report:
    """Grade the stages of a submission, each in a worker of its own.

    Args:
        stages: the stages to grade; None means all.
        on_stage: called with each stage as soon as it is graded.
        hidden_seed: run the hidden tests too, with inputs from this seed. The points of a test are then earned by
            the visible and the hidden one together.
    """
    started = time.monotonic()
    reported: dict[str, str] = {}
    results = []
    for stage in assignment.stages if stages is None else stages:
        results.append(grade_stage(submission, stage, assignment, workers, reported, hidden_seed))
        on_stage(results[-1])
    return Report(assignment.title, submission.name, tuple(results), time.monotonic() - started, hidden_seed)


def grade_stage(
    submission: Submission,
    stage: Stage,
    assignment: Assignment,
    workers: Workers,
    reported: dict[str, str],
    hidden_seed: int | None = None,
) -> StageResult:
    """Grade one stage. A module that cannot be imported is added to `reported`."""
    code = code_of_stage(submission, stage, assignment, reported)
    # Correct code that computes a part in float32 does not run in float64; it is right in the students' own float32.
    students = [Student(workers, code, dtype) for dtype in ("float64", "float32")]
    references: list[Student] = []
    suites = [stage_tests(stage)]
    if hidden_seed is not None:
        solution = code_of_stage(read_submission(assignment.solution, assignment), stage, assignment, {})
        references = [Student(workers, solution, student.dtype) for student in students]
        suites.append(stage_tests(stage, "autograder.hidden"))
    tests = []
    try:
        for name in stage.points:
            for case in (suite[name] for suite in suites):
                case.seed = hidden_seed or 0
                for case.student, case.reference in itertools.zip_longest(students, references):
                    result, error = run_test(name, case, stage)
                    if not is_dtype_conflict(error):
                        break
                if result.status != "passed":
                    result = with_diagnosis(result, signature(error, case.checks), case, stage, assignment, workers)
                    break
            tests.append(replace(result, title=suites[0][name].shortDescription() or name))
    finally:
        for student in (*students, *references):
            student.close()
    for student in students:
        if student.import_failure:
            reported[student.import_failure] = stage.name
    return StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tuple(tests))


def run_test(name: str, case: StageTestCase, stage: Stage) -> tuple[TestResult, BaseException | None]:
    """Run one test. Gives back its result and the exception that ended it, if there was one."""
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


def with_diagnosis(
    result: TestResult,
    found: Signature | None,
    case: StageTestCase,
    stage: Stage,
    assignment: Assignment,
    workers: Workers,
) -> TestResult:
    """The result with the name and the hints of the mistake that it looks like, if it looks like one."""
    if found is None:
        return result
    dtype = case.student.dtype
    if case.hidden:
        known = mistakes_on(case, stage, assignment, workers, dtype)
    else:
        known = iter(known_signatures(assignment.name, result.name))
    mistake = diagnose(found, known, dtype)
    return replace(result, mistake=mistake, hints=hints(assignment.name, mistake)) if mistake else result


def mistakes_on(
    case: StageTestCase, stage: Stage, assignment: Assignment, workers: Workers, dtype: str = "float64"
) -> Iterator[tuple[str, Signature]]:
    """What the known mistakes of a stage show in a test, one after the other."""
    from autograder.mistakes import all_mistakes

    solution = read_submission(assignment.solution, assignment)
    for mistake in all_mistakes():
        if mistake.stage == stage.name:
            mistaken = Submission(mistake.id, mistake.apply(solution.sources))
            case.student = Student(workers, code_of_stage(mistaken, stage, assignment, {}), dtype)
            _, error = run_test(case._testMethodName, case, stage)
            case.student.close()
            if (shown := signature(error, case.checks)) is not None:
                yield mistake.id, shown


def _line(place: Place) -> str:
    function = f" in {place.function}" if place.function and not place.function.startswith("<") else ""
    return f"{place.file}, line {place.line}{function}: {place.text}"
