"""A worker that answers anything: whatever one call of a correct submission gives is replaced by something odd.

    python -m tests.stress.fuzz_replies [--all]

Each test of each assignment is run again and again, and each time another answer is exchanged. What a test makes of it
is its own affair, but it is never a fault of the grader, takes no time to speak of, and leaves no long text.
"""

import argparse
import itertools
import random
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import TestResult
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import Assignment, Stage, assignments
from autograder.sandbox.read_reply import HUGE
from autograder.sandbox.remote_modules import ObjectProxy, Student
from autograder.sandbox.remote_values import Foreign
from autograder.sandbox.wire import Tuple
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import read_submission
from autograder.submissions.stage_with_standins import code_of_stage

SECONDS = 5.0  # that the tests of the grader may take with an odd answer
TEXT = 20_000  # characters of a result


def ragged() -> list[Any]:
    return [np.zeros(3), [np.zeros((2, 2)), None], np.zeros(5)]


ODD: dict[str, Any] = {
    "None": None,
    "True": True,
    "3": 3,
    "a huge number": HUGE,
    "2**62": 2**62,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "a text": "x" * 100_000,
    "no element": [],
    "an empty list in a list": [[]],
    "a nested list": [[[[[[0.0]]]]]],
    "many": [None] * 50_000,
    "many numbers": list(range(40_000)),
    "ragged": ragged(),
    "pairs": [[1, 2], [3, 4]],
    "three": [np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3))],
    "a tuple": Tuple([np.zeros((2, 3)), np.zeros((2, 3))]),
    "taken": ["taken", np.zeros(0)],
    "taken too much": ["taken", np.zeros((500, 1000))],
    "an empty array": np.zeros(0),
    "empty with axes": np.zeros((0, 3)),
    "a scalar": np.array(1.0),
    "a scalar NaN": np.array(np.nan),
    "many axes": np.zeros([1] * 32),
    "booleans": np.ones((2, 5), bool),
    "many booleans": np.ones(10_000_000, bool),
    "small integers": np.full((2, 5), -128, np.int8),
    "bytes": np.zeros(10_000_000, np.uint8),
    "float16": np.zeros((2, 5, 12), np.float16),
    "large": np.full(2_000_000, 1e308),
    "foreign": Foreign("a tensor of type F8_E4M3"),
}
SAME_SHAPE = {
    "all NaN": lambda value: np.full_like(value, np.nan) if value.dtype.kind == "f" else value,
    "one NaN": lambda value: _one(value, np.nan) if value.dtype.kind == "f" else value,
    "infinite": lambda value: np.full_like(value, np.inf) if value.dtype.kind == "f" else value,
    "the largest": lambda value: np.full_like(value, np.finfo(value.dtype).max) if value.dtype.kind == "f" else value,
    "as booleans": lambda value: value.astype(bool),
    "as bytes": lambda value: value.astype(bool).astype(np.uint8),
    "transposed": lambda value: value.T,
    "longer": lambda value: np.concatenate([value, value]) if value.ndim else value,
    "shorter": lambda value: value[:-1] if value.ndim else value,
}


def _one(value: np.ndarray, number: float) -> np.ndarray:
    value = value.copy()
    value.reshape(-1)[:1] = number
    return value


def inside(value: Any, change: Any) -> Any:
    """A value with a change of all its arrays."""
    if isinstance(value, list):
        return type(value)(inside(item, change) for item in value)
    return change(value) if isinstance(value, np.ndarray) else value


class Exchange(NamedTuple):
    """The answer that is exchanged: of which call, and by what."""

    call: int
    name: str


class Odd(Student):
    """A student of whose answers one is exchanged."""

    exchange: Exchange | None = None
    calls = 0

    def request(self, request: dict[str, Any], tensors: Any, call: str) -> Any:
        value = super().request(request, tensors, call)
        if request["do"] != "call" or (isinstance(value, ObjectProxy) and isinstance(request["target"], str)):
            return value
        self.calls += 1
        if self.exchange is None or self.calls != self.exchange.call:
            return value
        name = self.exchange.name
        return ODD[name] if name in ODD else inside(value, SAME_SHAPE[name])


def run(case: Any, name: str, stage: Stage, student: Odd, book: AnswerBook, exchange: Exchange | None) -> TestResult:
    """Run a test with one answer exchanged."""
    student.exchange, student.calls = exchange, 0
    student.kept.clear()
    case.student = student
    if case.hidden:
        case.answers = book.of(stage, name, student.dtype)  # a test that they do not cover has dropped them
    return run_test(name, case, stage)[0]


def trials(
    assignment: Assignment, workers: Any, book: AnswerBook, number: int | None, seed: int = 0
) -> Iterator[tuple[Stage, str, bool, Exchange, TestResult, float]]:
    """Run the tests of an assignment, each `number` times (None: with everything that is odd in every call)."""
    dice = random.Random(seed)
    solution = read_submission(assignment.solution, assignment)
    for stage in assignment.stages:
        code = code_of_stage(solution, stage, assignment, {})
        student, reference = Odd(workers, code), Student(workers, code)
        for hidden in (False, True):
            for name, case in stage_tests(stage, hidden).items():
                anything: Any = case
                anything.seed, anything.reference = book.hidden_seed, reference
                plain = run(anything, name, stage, student, book, None)
                assert plain.status == "passed", plain
                ways = [Exchange(*way) for way in itertools.product(range(1, student.calls + 1), [*ODD, *SAME_SHAPE])]
                for exchange in ways if number is None else dice.sample(ways, min(number, len(ways))):
                    started = time.monotonic()
                    result = run(anything, name, stage, student, book, exchange)
                    yield stage, name, hidden, exchange, result, time.monotonic() - started
        student.close()
        reference.close()


def length(result: TestResult) -> int:
    """The characters of all texts of a result."""
    texts = (result.message, *result.details, result.printed, *(part.message for part in result.parts))
    return sum(map(len, texts))


def complaints(trial: tuple[Stage, str, bool, Exchange, TestResult, float]) -> Iterator[str]:
    """What is wrong with what a test made of an odd answer."""
    stage, name, hidden, exchange, result, seconds = trial
    what = f"{stage.assignment} {name} ({'hidden' if hidden else 'visible'}), call {exchange.call}: {exchange.name}"
    if result.status == "fault":
        yield "\n  ".join([f"{what}: {result.message}", *result.details[-8:]])
    if seconds > SECONDS:
        yield f"{what}: {seconds:.1f} s"
    if length(result) > TEXT:
        yield f"{what}: {length(result)} characters"


def main() -> int:
    parser = argparse.ArgumentParser(description="Exchange answers of correct code, and look for faults of the grader.")
    parser.add_argument("--all", action="store_true", help="everything odd in every call (an hour)")
    parser.add_argument("--number", type=int, default=40, help="of exchanges in each test (%(default)d)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*", help="of assignments (all)")
    args = parser.parse_args()
    count = wrong = 0
    for name, assignment in assignments().items():
        if args.names and name not in args.names:
            continue
        workers = make_workers()
        book = AnswerBook(assignment, workers, hidden_seed=7)
        for trial in trials(assignment, workers, book, None if args.all else args.number, args.seed):
            count += 1
            for complaint in complaints(trial):
                wrong += 1
                print(complaint, flush=True)
        workers.close()
    print(f"{count} answers exchanged, {wrong} complaints")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
