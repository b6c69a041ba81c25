"""Correct code gets full marks, however it is written: visible and hidden tests on every formulation we know."""

from pathlib import Path

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.variants.formulations import FORMULATIONS, Formulation, apply

ASSIGNMENT = assignment("transformer")
VARIANTS = Path(__file__).parent / "variants"


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda formulation: formulation.id)
def test_every_formulation_gets_full_marks(workers, formulation: Formulation):
    """In all stages that are written in its module; the other stages do not see it."""
    stages = [stage for stage in ASSIGNMENT.stages if formulation.module in stage.modules]
    submission = Submission(formulation.id, apply(formulation, ASSIGNMENT.solution))
    report = grade(submission, ASSIGNMENT, workers, stages, hidden_seed=1)
    assert [test for test in report.tests if test.status != "passed"] == []


@pytest.mark.parametrize("name", ["einsum", "loops"])
def test_every_independent_submission_gets_full_marks(workers, name: str):
    report = grade(read_submission(VARIANTS / name, ASSIGNMENT), ASSIGNMENT, workers, hidden_seed=2)
    assert [test for test in report.tests if test.status != "passed"] == []
    assert report.points == 110
