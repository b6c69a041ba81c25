"""Grade a submission: run the tests of each stage against workers and collect the results."""

import contextlib
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

from autograder.grading.forbidden_parts import check_submission
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import Report, StageResult, TestResult
from autograder.grading.run_test import fault, run_test, stage_tests
from autograder.grading.stage_run import StageRun
from autograder.manifest import Assignment, Stage
from autograder.sandbox.limits import WAITING_STAGES
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.student_faults import is_dtype_conflict
from autograder.sandbox.submission_clock import Clock, Share
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission
from autograder.submissions.stage_with_standins import code_of_all
from autograder.submissions.syntax_tree import forget

FEW = 6  # this many sentences show whether the student's own modules work together


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
    """Grade the stages of a submission, each in its own worker. If the grader itself fails, the report says so.

    Args:
        stages: the stages to grade; None means all.
        on_stage: called with each stage as soon as it is graded.
        hidden_seed: run the hidden tests too, with inputs from this seed. The points of a test are then earned by
            the visible and the hidden test together.
        clock: limits the total time of the submission's calls.
        jobs: how many stages to grade at the same time.
        book: the reference's answers to the hidden tests, kept for a whole class. It has its own seed.
        on_error: called with the error of each failed visible test, for callers that want more than the report.
    """
    started = time.monotonic()
    if book is not None:
        hidden_seed = book.hidden_seed
    elif hidden_seed is not None:
        book = AnswerBook(assignment, workers, hidden_seed, ahead=False)
    chosen = list(assignment.stages if stages is None else stages)
    names = [stage.name for stage in chosen]
    clock, looks = clock or Clock(), stages is None and bool(assignment.end_to_end)
    clock.divide(len(chosen) * (1 if book is None else 2) + looks)
    checked = check_submission(submission, assignment, workers, copies=book is not None)
    failed: dict[str, str] = {}  # modules that cannot be imported, with the first stage that reports it

    def start(stage: Stage) -> StageRun:
        run = StageRun(submission, stage, assignment, workers, dict(failed), book, clock, on_error, checked)
        run.visible(waits=chosen.index(stage) < WAITING_STAGES)
        if failure := run.failure:
            failed[failure] = min(failed.get(failure, stage.name), stage.name, key=names.index)
        return run

    results = []
    with ThreadPoolExecutor(jobs) as pool, contextlib.ExitStack() as ends:
        ends.callback(forget)
        futures = [pool.submit(start, stage) for stage in chosen]
        whole = None
        if looks:
            whole = pool.submit(end_to_end, submission, assignment, workers, clock)
        if book is not None:
            # All output that the student can see is finished before any of the code sees a hidden input.
            wait(futures)
            wait([whole] if whole else [])
        runs: list[StageRun] = []
        for stage, future in zip(chosen, futures, strict=True):
            run = future.result()
            # If several stages hit the same import failure at the same time, the first one reports it.
            if any(failed.get(module) not in (None, stage.name, run.reported.get(module)) for module in stage.modules):
                run.close()
                run = start(stage)
            ends.callback(run.close)
            if book is None:
                results.append(run.finish())
                run.close()
                on_stage(results[-1])
            else:
                runs.append(run)

        def finish(run: StageRun) -> StageResult:
            try:
                return run.finish()
            finally:
                run.close()  # the next stage needs its memory

        for stage_result in pool.map(finish, runs):
            results.append(stage_result)
            on_stage(stage_result)
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
    """Run one test with only the student's own modules. The test earns no points and has a stage's time limit."""
    name = assignment.end_to_end
    stage = next(stage for stage in assignment.stages if name in stage.points)
    share = Share(clock or Clock())
    share.begin()
    try:
        result, title = _with_own_modules(submission, assignment, workers, share, stage)
    except Exception as error:
        result, title = fault(stage, name, error), name
    finally:
        share.end()
    return replace(result, title=title, points=0, max_points=0, parts=())


def _with_own_modules(
    submission: Submission, assignment: Assignment, workers: Workers, clock: Clock, stage: Stage
) -> tuple[TestResult, str]:
    name = assignment.end_to_end
    case = stage_tests(stage)[name]
    case.few = FEW
    # In float32 first, as in the notebooks: code that works only in float64 is of no use. If rounding decides between
    # two tokens, float64 decides which is right.
    for dtype in ("float32", "float64"):
        case.student = Student(workers, code_of_all(submission, assignment), dtype, clock)
        try:
            result, error = run_test(name, case, stage, alone=True)
        finally:
            case.student.close()
        if result.status == "passed" or is_dtype_conflict(error):
            break
    return result, case.shortDescription() or name
