"""Correct code gets full marks, however it is written: visible and hidden tests on every formulation we know."""

import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox.worker_processes import make_workers

ASSIGNMENT = assignment("transformer")
CORRECT = correct_submissions(ASSIGNMENT)


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


@pytest.mark.parametrize("name", CORRECT)
def test_every_formulation_gets_full_marks(workers, name: str):
    """In all stages that are written in its modules; the other stages do not see it."""
    submission, modules = CORRECT[name]
    stages = [stage for stage in ASSIGNMENT.stages if modules & set(stage.modules)]
    report = grade(submission, ASSIGNMENT, workers, stages, hidden_seed=1)
    assert [test for test in report.tests if test.status != "passed"] == []
