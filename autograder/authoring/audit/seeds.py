"""The hidden tests accept the solution for every seed, and depend on nothing but the seed."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from autograder.authoring.audit.subject import Subject
from autograder.grading.reference_answers import AnswerBook, Answers
from autograder.sandbox.submission_clock import Seconds

PROMISE = "hidden tests pass on 20 seeds, and depend only on the seed"
QUICK = 5
SEEDS = range(20)
SAME, OTHER = 7, 8


def items(subject: Subject) -> Iterable[str]:
    names = [stage.name for stage in subject.assignment.stages]
    return (*(f"{name} depends on the seed" for name in names), *(f"{name}, seed {n}" for n in SEEDS for name in names))


def problems(subject: Subject, item: str) -> Iterator[str]:
    name, _, seed = item.partition(", seed ")
    if not seed:
        yield from _deterministic(subject, item.split()[0])
        return
    stage = subject.assignment.stage(name)
    for ran in subject.run(subject.code(subject.solution, stage), stage, int(seed), ask=True):
        if not ran.passed:
            yield str(ran)


def _deterministic(subject: Subject, name: str) -> Iterator[str]:
    """Check that the reference results are the same for the same seed and differ for different seeds."""
    stage = subject.assignment.stage(name)
    for test in stage.points:
        books = [AnswerBook(subject.assignment, subject.workers, seed) for seed in (SAME, SAME, OTHER)]
        first, again, other = (book.of(stage, test, "float64") for book in books)
        if first is None or again is None or other is None:
            yield f"the solution fails {test}"
        elif not (first or again or other):
            continue  # the test needs no reference: the expected result follows from its inputs
        elif not same(first, again):
            yield f"{test} differs between two runs with the same seed: take random numbers only from self.rng"
        elif same(first, other):
            yield f"{test} is the same with two seeds: it can be memorised"


def same(some: Answers, others: Answers) -> bool:
    """Whether the reference returned the same results in two runs of a test."""
    return some.keys() == others.keys() and all(equal(some[part], others[part]) for part in some)


def equal(one: Any, other: Any) -> bool:
    """Whether two values are equal, including nested tensors; measured times are not compared."""
    if isinstance(one, Seconds):
        return isinstance(other, Seconds)
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.shape == other.shape and bool((one == other).all())
    if isinstance(one, (list, tuple)):
        return isinstance(other, type(one)) and len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return (
            isinstance(other, dict) and one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
        )
    if hasattr(one, "__dict__"):
        return type(one) is type(other) and equal(vars(one), vars(other))
    return bool(one == other)
