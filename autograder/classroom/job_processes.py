"""Grade submissions in several processes on this machine. Each process has its own warm process.

A class is graded by several such processes (jobs). Costly steps are done once per job: importing torch, reading the
expected tensors, computing the reference results. The workers of a cluster use the same `Grader`.
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

from autograder.classroom.hidden_seed import seed_of_student
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission

# A job that exceeds a submission's time limit by this many seconds is considered stuck and is stopped. The time limit
# covers only the student's code; the first submission also waits for torch and for the reference results.
PATIENCE = 900.0


@dataclass(frozen=True)
class Settings:
    """The settings that affect grades; they are the same for a whole class."""

    assignment: str
    seed: int | None  # of the hidden tests; None leaves them out
    time_limit: float  # seconds for all calls of one submission
    confined: bool
    grader: str  # content hash of the grader
    per_student: bool = False  # whether each submission gets its own hidden inputs


@dataclass(frozen=True)
class Outcome:
    """The outcome of grading one submission."""

    student: str
    digest: str
    report: dict[str, Any] | None = None  # see autograder.grading.results.to_json
    feedback: str = ""  # the student's page
    fault: str = ""  # why the grader failed, for the instructor; if set, there is no grade

    @classmethod
    def failed(cls, submission: Submission, fault: str) -> "Outcome":
        return cls(submission.name, submission.digest, fault=fault)


class Grader:
    """Grades submissions one by one, with a single warm process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._assignment = assignment(settings.assignment)
        self._workers: Any = None
        self._book: Any = None

    def grade(self, submission: Submission) -> Outcome:
        """Grade a submission. A failure of the grader is reported in the outcome and never raised."""
        from autograder.grading.grade_submission import grade
        from autograder.grading.reference_answers import AnswerBook
        from autograder.grading.results import to_json
        from autograder.reports.student_feedback import feedback_html
        from autograder.sandbox.submission_clock import Clock
        from autograder.sandbox.worker_processes import make_workers

        settings = self.settings
        try:
            if self._workers is None:
                self._workers = make_workers(plain="AUTOGRADER_PLAIN" in os.environ, confined=settings.confined)
                if settings.seed is not None:
                    self._book = AnswerBook(self._assignment, self._workers, settings.seed)
            if settings.per_student and settings.seed is not None:
                own = seed_of_student(settings.seed, submission.name)
                self._book = AnswerBook(self._assignment, self._workers, own)
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
        """Stop the warm process."""
        if self._workers is not None:
            with contextlib.suppress(Exception):
                self._workers.close()
            self._workers = self._book = None


class Queue:
    """The waiting submissions. If the grader fails on a submission, it is retried once."""

    def __init__(self, submissions: Iterator[Submission]) -> None:
        self._fresh = submissions
        self._again: list[Submission] = []
        self._tried_again: set[str] = set()

    def take(self) -> Submission | None:
        """Return the next submission, or None if none is left."""
        return self._again.pop() if self._again else next(self._fresh, None)

    def comes_back(self, submission: Submission, outcome: Outcome) -> bool:
        """Whether the submission will be retried, so that this outcome is not final."""
        if not outcome.fault or submission.name in self._tried_again:
            return False
        self._tried_again.add(submission.name)
        self._again.append(submission)
        return True


class Job:
    """A process that grades one submission at a time; if it dies, the submission that it was grading is known."""

    def __init__(self, settings: Settings) -> None:
        context = multiprocessing.get_context("spawn")
        self.channel, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, settings), daemon=True)
        # Ctrl-C reaches all processes of a terminal. Only this process must react to it, and it stops the others.
        with interrupts_ignored():
            self._process.start()
        theirs.close()
        self._limit = settings.time_limit + PATIENCE
        self._submission: Submission | None = None
        self._started = 0.0
        self.alive = True

    def start(self, submission: Submission) -> None:
        """Send a submission to the process."""
        self._submission, self._started = submission, time.monotonic()
        with contextlib.suppress(OSError):  # the death of a process is noticed when its reply is read
            self.channel.send(submission)

    def finish(self) -> tuple[Submission, Outcome]:
        """Return the submission and its outcome. Call this only when the channel is ready."""
        submission, self._submission = self._submission, None
        assert submission is not None
        try:
            return submission, self.channel.recv()
        except (EOFError, OSError):
            self.close()
            code = self._process.exitcode
            return submission, Outcome.failed(submission, f"the process that graded it ended with exit code {code}")

    def kill_if_stuck(self) -> None:
        """Stop the process if a submission takes too long; this makes its channel ready."""
        if self._submission and time.monotonic() - self._started > self._limit:
            self._process.kill()

    def close(self) -> None:
        """Stop the process, gracefully if it is idle."""
        self.alive = False
        self.channel.close()
        if self._submission is None:
            self._process.join(5)
        self._process.kill()
        self._process.join()


def grade_here(queue: Queue, settings: Settings, number: int) -> Generator[Outcome, None, None]:
    """Grade submissions in `number` jobs; yield the outcomes as they arrive."""
    busy: list[Job] = []
    idle: list[Job] = []
    outcomes: list[Outcome] = []
    try:
        while True:
            while len(busy) < number and (submission := queue.take()) is not None:
                busy.append(idle.pop() if idle else Job(settings))
                busy[-1].start(submission)
            yield from outcomes  # first give the jobs new work
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
    """Run a job: grade submissions until the channel is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    grader = Grader(settings)
    with contextlib.suppress(EOFError, OSError):
        while True:
            channel.send(grader.grade(channel.recv()))
    grader.close()


def end_with_parent() -> None:
    """Wait until the parent process has ended, for whatever reason, then end this process."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C in the block. Processes started in the block ignore it permanently."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
