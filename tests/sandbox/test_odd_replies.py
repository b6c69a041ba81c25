"""A sample of odd replies instead of those of correct code; `python -m tests.stress.fuzz_replies` tries more."""

import pytest

from autograder.grading.reference_answers import AnswerBook
from autograder.manifest import assignments
from autograder.sandbox.worker_processes import make_workers
from tests.stress.fuzz_replies import complaints, trials


@pytest.mark.parametrize(
    ("name", "number"),
    [("transformer", 1), *(pytest.param(name, 3, marks=pytest.mark.slow) for name in assignments())],
)
def test_odd_answers_are_no_faults(name, number):
    assignment = assignments()[name]
    workers = make_workers()
    try:
        found = trials(assignment, workers, AnswerBook(assignment, workers, hidden_seed=7), number=number, seed=1)
        assert [complaint for trial in found for complaint in complaints(trial)] == []
    finally:
        workers.close()
