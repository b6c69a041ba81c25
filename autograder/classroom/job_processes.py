"""Grade submissions one after the other in processes of this machine, each with a warm process of its own.

A class is graded by several such processes (jobs). What is costly is done once in each: importing torch, reading the
expected tensors, computing what the reference gives. The same `Grader` works inside the workers of a cluster.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission

# A job that needs so much longer than the time limit of a submission is stuck and gets ended. The time limit counts
# the student's code only; the first submission also waits for torch and for what the reference gives.
PATIENCE = 900.0


@dataclass(frozen=True)
class Settings:
    """What grades depend on beside the submission; the same for a whole class."""

    assignment: str
    seed: int | None  # of the hidden tests; None leaves them out
    time_limit: float  # seconds for all calls of one submission
    confined: bool
    grader: str  # content hash of the grader


@dataclass(frozen=True)
class Outcome:
    """What became of one submission."""

    student: str
    digest: str
    report: dict[str, Any] | None = None  # see autograder.grading.results.to_json
    feedback: str = ""  # the student's page
    fault: str = ""  # why the grader failed, for the instructor; then the grade does not count

    @classmethod
    def failed(cls, submission: Submission, fault: str) -> "Outcome":
        return cls(submission.name, submission.digest, fault=fault)


class Grader:
    """Grades one submission after the other, with one warm process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._assignment = assignment(settings.assignment)
        self._workers: Any = None
        self._book: Any = None

    def grade(self, submission: Submission) -> Outcome:
        """Grade a submission. A failure of the grader is part of the outcome and never raised."""
        from autograder.grading.grade_submission import grade
        from autograder.grading.reference_answers import AnswerBook
        from autograder.grading.results import to_json
        from autograder.reports.student_feedback import feedback_html
        from autograder.sandbox.time_budget import Clock
        from autograder.sandbox.worker_processes import make_workers

        settings = self.settings
        try:
            if self._workers is None:
                self._workers = make_workers(plain="AUTOGRADER_PLAIN" in os.environ, confined=settings.confined)
                if settings.seed is not None:
                    self._book = AnswerBook(self._assignment, self._workers, settings.seed)
            clock = Clock(settings.time_limit)
            report = grade(submission, self._assignment, self._workers, clock=clock, book=self._book)
            report = replace(report, confined=settings.confined)
            outcome = Outcome(submission.name, submission.digest, to_json(report), feedback_html(report))
        except Exception:
            outcome = Outcome.failed(submission, traceback.format_exc())
        else:
            if report.faulty:
                whole = (report.end_to_end,) if report.end_to_end else ()
                fault = next(test for test in (*report.tests, *whole) if test.status == "fault")
                outcome = replace(outcome, fault="\n".join([f"{fault.name}: {fault.message}", *fault.details]))
        if outcome.fault:
            self.close()  # the next submission gets a new warm process
        return outcome

    def close(self) -> None:
        """End the warm process."""
        if self._workers is not None:
            with contextlib.suppress(Exception):
                self._workers.close()
            self._workers = self._book = None


class Queue:
    """The submissions that wait. One on which the grader failed comes back once."""

    def __init__(self, submissions: Iterator[Submission]) -> None:
        self._fresh = submissions
        self._again: list[Submission] = []
        self._tried_again: set[str] = set()

    def take(self) -> Submission | None:
        """The next submission, or None if none is left."""
        return self._again.pop() if self._again else next(self._fresh, None)

    def comes_back(self, submission: Submission, outcome: Outcome) -> bool:
        """Whether this outcome is not the last word."""
        if not outcome.fault or submission.name in self._tried_again:
            return False
        self._tried_again.add(submission.name)
        self._again.append(submission)
        return True


class Job:
    """A process that grades one submission at a time, so that it is known which one was under way when it dies."""

    def __init__(self, settings: Settings) -> None:
        context = multiprocessing.get_context("spawn")
        self.channel, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, settings), daemon=True)
        # Ctrl-C reaches all processes of a terminal. Only this one shall act on it, and it ends the others.
        with interrupts_ignored():
            self._process.start()
        theirs.close()
        self._limit = settings.time_limit + PATIENCE
        self._submission: Submission | None = None
        self._started = 0.0
        self.alive = True

    def start(self, submission: Submission) -> None:
        """Hand over a submission."""
        self._submission, self._started = submission, time.monotonic()
        with contextlib.suppress(OSError):  # a dead process shows when its answer is read
            self.channel.send(submission)

    def finish(self) -> tuple[Submission, Outcome]:
        """The submission that was handed over and what became of it; to be called when the channel is ready."""
        submission, self._submission = self._submission, None
        assert submission is not None
        try:
            return submission, self.channel.recv()
        except (EOFError, OSError):
            self.close()
            code = self._process.exitcode
            return submission, Outcome.failed(submission, f"the process that graded it ended with exit code {code}")

    def kill_if_stuck(self) -> None:
        """End the process if it has been busy with a submission for too long; its channel is ready then."""
        if self._submission and time.monotonic() - self._started > self._limit:
            self._process.kill()

    def close(self) -> None:
        """End the process: kindly if it is idle."""
        self.alive = False
        self.channel.close()
        if self._submission is None:
            self._process.join(5)
        self._process.kill()
        self._process.join()


def grade_here(queue: Queue, settings: Settings, number: int) -> Generator[Outcome, None, None]:
    """Grade submissions in a number of jobs; gives the outcomes in the order in which they become known."""
    busy: list[Job] = []
    idle: list[Job] = []
    outcomes: list[Outcome] = []
    try:
        while True:
            while len(busy) < number and (submission := queue.take()) is not None:
                busy.append(idle.pop() if idle else Job(settings))
                busy[-1].start(submission)
            yield from outcomes  # after the jobs have got new work
            if not busy:
                return
            outcomes = []
            ready = wait([job.channel for job in busy], timeout=10)
            for job in [job for job in busy if job.channel in ready]:
                busy.remove(job)
                submission, outcome = job.finish()
                if job.alive:
                    idle.append(job)
                if not queue.comes_back(submission, outcome):
                    outcomes.append(outcome)
            for job in busy:
                job.kill_if_stuck()
    finally:
        for job in (*busy, *idle):
            job.close()


def serve(channel: Connection, settings: Settings) -> None:
    """The life of a job: grade what comes until the channel is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    grader = Grader(settings)
    with contextlib.suppress(EOFError, OSError):
        while True:
            channel.send(grader.grade(channel.recv()))
    grader.close()


def end_with_parent() -> None:
    """End this process when the one that started it has ended, however that happened."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C here, and for ever in processes that are started meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
