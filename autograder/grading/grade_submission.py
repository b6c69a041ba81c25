"""Grade a submission: run the tests of each stage against workers and collect the results."""

import functools
import time
from collections.abc import Callable, Iterable, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

from autograder.diagnosis.mistake_signatures import Signature, hints, signature
from autograder.grading.find_mistakes import find_mistakes
from autograder.grading.forbidden_parts import check_submission, forbidden_stage
from autograder.grading.graded_case import StageTestCase
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import Report, StageResult, TestResult
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import Assignment, Stage
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.student_faults import Raised, is_dtype_conflict
from autograder.sandbox.total_time import Clock
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_all, code_of_stage, with_own_methods

FEW = 6  # sentences show whether the student's own modules work together


def grade(
    submission: Submission,
    assignment: Assignment,
    workers: Workers,
    stages: Iterable[Stage] | None = None,
    on_stage: Callable[[StageResult], None] = lambda stage: None,
    hidden_seed: int | None = None,
    clock: Clock | None = None,
    jobs: int = 1,
    book: AnswerBook | None = None,
    on_error: Callable[[Stage, str, BaseException], None] = lambda stage, test, error: None,
) -> Report:
    """Grade the stages of a submission, each in a worker of its own.

    Args:
        stages: the stages to grade; None means all.
        on_stage: called with each stage as soon as it is graded.
        hidden_seed: run the hidden tests too, with inputs from this seed. The points of a test are then earned by
            the visible and the hidden one together.
        clock: limits the time of all calls of the submission together.
        jobs: how many stages to grade at the same time.
        book: the same, with what the reference gives, kept from one submission to the next. It brings its own seed.
        on_error: called with what ended a visible test, for those that want more than the report says.
    """
    started = time.monotonic()
    if book is not None:
        hidden_seed = book.hidden_seed
    elif hidden_seed is not None:
        book = AnswerBook(assignment, workers, hidden_seed, ahead=False)
    chosen = list(assignment.stages if stages is None else stages)
    names = [stage.name for stage in chosen]
    checked = check_submission(submission, assignment, workers)
    failed: dict[str, str] = {}  # modules that cannot be imported, with the first stage that says so

    def grade_one(stage: Stage) -> tuple[StageResult, dict[str, str]]:
        known = dict(failed)
        if lines := checked.forbidden.get(stage.name):
            return forbidden_stage(stage, lines), known
        result, failure = grade_stage(
            submission, stage, assignment, workers, known, book, clock, on_error, checked.modules
        )
        if failure:
            failed[failure] = min(failed.get(failure, stage.name), stage.name, key=names.index)
        return result, known

    results = []
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(grade_one, stage) for stage in chosen]
        whole = None
        if stages is None and assignment.end_to_end:
            whole = pool.submit(end_to_end, submission, assignment, workers, clock)
        for stage, future in zip(chosen, futures, strict=True):
            result, known = future.result()
            # Of stages that met the same failure at the same time, the first one says so.
            if any(failed.get(module) not in (None, stage.name, known.get(module)) for module in stage.modules):
                result, _ = grade_one(stage)
            results.append(result)
            on_stage(result)
    return Report(
        title=assignment.title,
        submission=submission.name,
        stages=tuple(results),
        seconds=time.monotonic() - started,
        hidden_seed=hidden_seed,
        confined=None if hidden_seed is None else workers.confined,
        end_to_end=whole.result() if whole else None,
        review=(*submission.review, *checked.review),
        files=submission.files,
    )


def end_to_end(
    submission: Submission, assignment: Assignment, workers: Workers, clock: Clock | None = None
) -> TestResult:
    """Run one test with the student's own modules only. It gives no points."""
    name = assignment.end_to_end
    stage = next(stage for stage in assignment.stages if name in stage.points)
    case = stage_tests(stage)[name]
    case.few = FEW
    for dtype in ("float64", "float32"):
        case.student = Student(workers, code_of_all(submission, assignment), dtype, clock)
        try:
            result, error = run_test(name, case, stage, alone=True)
        finally:
            case.student.close()
        if not is_dtype_conflict(error):
            break
    return replace(result, title=case.shortDescription() or name, points=0, max_points=0, parts=())


class Attempt(NamedTuple):
    """A run of a test: its result, what ended it, the number of checks until then, and the precision."""

    result: TestResult
    error: BaseException | None
    checks: int
    dtype: str


def grade_stage(
    submission: Submission,
    stage: Stage,
    assignment: Assignment,
    workers: Workers,
    reported: dict[str, str],
    book: AnswerBook | None = None,
    clock: Clock | None = None,
    on_error: Callable[[Stage, str, BaseException], None] = lambda stage, test, error: None,
    forbidden: Set[str] = frozenset(),
) -> tuple[StageResult, str]:
    """Grade one stage; its result, and the module that could not be imported, if there is one."""
    code = code_of_stage(submission, stage, assignment, reported, forbidden)
    # Correct code that computes a part in float32 does not run in float64; it is right in the students' own float32.
    students = [Student(workers, code, dtype, clock) for dtype in ("float64", "float32")]
    # Methods of two stages may share state or a changed given part. The student's own then replace the stand-ins'.
    if not forbidden & set(stage.modules) and (own := with_own_methods(code)) != code:
        students.append(Student(workers, own, "float64", clock))
    references: list[Student] = []
    suites = [stage_tests(stage)]
    if book is not None:
        solution = code_of_stage(read_submission(assignment.solution, assignment), stage, assignment, {})
        references = [Student(workers, solution, student.dtype) for student in students]
        suites.append(stage_tests(stage, hidden=True))
    tests: dict[str, TestResult] = {}
    shown: dict[str, Signature] = {}
    try:
        # All visible tests come first, so that what they show of the student's code cannot carry a hidden input.
        for name, case in [item for suite in suites for item in suite.items()]:
            visible = tests.get(name)
            if visible is not None and (visible.status == "fault" or not visible.points):
                continue
            case.seed = book.hidden_seed if book else 0

            def attempt(number: int, name: str = name, case: StageTestCase = case) -> Attempt:
                case.student = students[number]
                case.reference = references[number] if references else None
                if book and book.ahead and case.hidden:
                    case.answers = book.of(stage, name, case.student.dtype)
                return Attempt(*run_test(name, case, stage), case.checks, case.student.dtype)

            done = attempt(0)
            if is_dtype_conflict(done.error):
                done = attempt(1)
            elif isinstance(done.error, Raised) and len(students) > 2 and not (again := attempt(2)).error:
                done = again
            tests[name], error, checks, dtype = done
            if error is not None and not case.hidden:
                on_error(stage, name, error)
            if (found := signature(error, checks)) is not None:
                shown.setdefault(name, found)
            if visible is not None:
                tests[name] = visible.guarded_by(tests[name])
            tests[name] = replace(tests[name], title=suites[0][name].shortDescription() or name)
        make = functools.partial(Student, workers, code, dtype, clock)
        for name, named in find_mistakes(tests, shown, stage, assignment, workers, book, dtype, make).items():
            tests[name] = replace(tests[name], mistake=named.mistake, hints=hints(assignment.name, named))
    finally:
        for student in (*students, *references):
            student.close()
    failure = next((student.import_failure for student in students if student.import_failure), "")
    return StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tuple(tests.values())), failure
