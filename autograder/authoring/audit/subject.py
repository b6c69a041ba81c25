"""An assignment under audit: its sources, its workers, and cached runs, which several checks share."""

import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from autograder.authoring.formulations import correct_submissions
from autograder.authoring.stubs import strip_module
from autograder.diagnosis.mistake_signatures import Signature, signature
from autograder.diagnosis.mistakes import Mistake, all_mistakes
from autograder.grading.grade_submission import grade
from autograder.grading.reference_answers import AnswerBook, Answers
from autograder.grading.results import Report, TestResult
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import Assignment, Stage
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import is_dtype_conflict
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage

SEED = 1  # of the hidden tests, if one seed is enough
DTYPES = ("float64", "float32")  # the second is for code that cannot run with the first
Value = TypeVar("Value")


@dataclass(frozen=True)
class Ran:
    """The result of a test run."""

    result: TestResult
    shown: Signature | None  # the signature of its failure
    dtype: str
    shares: tuple[float, ...]  # deviations of all compared tensors, relative to their limits

    @property
    def passed(self) -> bool:
        return self.result.status == "passed"

    def __str__(self) -> str:
        return f"{self.result.name}: {self.result.status}, {self.result.message}".rstrip(", ")


class Subject:
    """An assignment under audit. Several threads may use it at the same time."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self._kept: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the cached value of a key; compute it once with `make`."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._kept:
                self._kept[key] = make()
            value: Value = self._kept[key]
            return value

    # Source code

    @cached_property
    def solution(self) -> dict[str, str]:
        """The reference modules."""
        return read_submission(self.assignment.solution, self.assignment).sources

    @cached_property
    def mistakes(self) -> dict[str, Mistake]:
        """The known mistakes by id."""
        return {mistake.id: mistake for mistake in all_mistakes(self.assignment.name)}

    @cached_property
    def correct(self) -> dict[str, tuple[Submission, set[str]]]:
        """The correct submissions other than the solution, each with the names of its modules."""
        return correct_submissions(self.assignment)

    def partly(self, *keep: str) -> dict[str, str]:
        """Return the reference modules with stubs in place of the students' functions, except those in `keep`."""
        sources = self.solution.items()
        return {module: strip_module(text, module, self.assignment, keep) for module, text in sources}

    # Runs

    @property
    def workers(self) -> Any:
        """The workers, started on first use."""
        return self.once("workers", make_workers)

    def close(self) -> None:
        """Stop the workers."""
        if "workers" in self._kept:
            self._kept.pop("workers").close()

    def graded(self, sources: Mapping[str, str], *stages: Stage, seed: int | None = SEED) -> Report:
        """Grade some modules, by default with hidden tests, and return the report."""
        book = None if seed is None else self.book(seed)
        submission = Submission("audit", dict(sources))
        return grade(submission, self.assignment, self.workers, stages or None, hidden_seed=seed, book=book)

    def book(self, seed: int) -> AnswerBook:
        """Return the reference answers to the hidden tests with a given seed."""
        return self.once(("book", seed), lambda: AnswerBook(self.assignment, self.workers, seed))

    def answers(self, stage: Stage, test: str, dtype: str, seed: int | None) -> Answers | None:
        """Return the reference answers to a hidden test."""
        if seed is None:
            return None
        return self.once(("answers", test, dtype, seed), lambda: self.book(seed).of(stage, test, dtype))

    def code(self, sources: Mapping[str, str], stage: Stage) -> Code:
        """Return the modules of a stage with stand-ins for the stages that it builds on."""
        return code_of_stage(Submission("audit", dict(sources)), stage, self.assignment, {})

    def run(self, code: Code, stage: Stage, seed: int | None = None, ask: bool = False) -> tuple[Ran, ...]:
        """Run the visible tests of a stage, or its hidden tests if a seed is given.

        Args:
            ask: whether each hidden test queries the reference, instead of using its cached answers.
        """
        reference = self.code(self.solution, stage)
        pairs = [(Student(self.workers, code, dtype), Student(self.workers, reference, dtype)) for dtype in DTYPES]
        runs = []
        try:
            for name, case in stage_tests(stage, hidden=seed is not None).items():
                case.seed, case.explains = seed or 0, False
                for case.student, case.reference in pairs:
                    dtype, case.measured = case.student.dtype, []
                    case.answers = None if ask else self.answers(stage, name, dtype, seed)
                    result, error = run_test(name, case, stage)
                    if not is_dtype_conflict(error):
                        break
                shares = tuple(deviation / limit for deviation, limit in case.measured or [])
                runs.append(Ran(result, signature(error, case.checks), dtype, shares))
        finally:
            for student, twin in pairs:
                student.close()
                twin.close()
        return tuple(runs)

    def run_mistake(self, name: str, seed: int | None = None) -> tuple[Ran, ...]:
        """Run a known mistake through the tests of its stage; the result is cached."""
        mistake = self.mistakes[name]
        stage = self.assignment.stage(mistake.stage)
        return self.once(
            ("mistake", name, seed), lambda: self.run(self.code(mistake.apply(self.solution), stage), stage, seed)
        )

    def run_correct(self, name: str, stage: Stage, seed: int | None = None) -> tuple[Ran, ...]:
        """Run the tests of a stage on a correct submission; the result is cached."""
        submission, _ = self.correct[name]
        return self.once(
            ("correct", name, stage.name, seed), lambda: self.run(self.code(submission.sources, stage), stage, seed)
        )
