"""Whether calls with dropout differ: correct code must not fail since two of them drop the same elements by chance."""

import numpy as np
import pytest

from autograder.diagnosis.compare_tensors import Incorrect
from autograder.grading.graded_case import StageTestCase
from autograder.manifest import assignment
from autograder.sandbox.remote_modules import Student
from autograder.submissions.read_submission import read_submission
from autograder.submissions.stage_with_standins import code_of_stage


@pytest.fixture
def case(workers):
    chosen = assignment("variants")
    stage = chosen.stage("heads")
    case = StageTestCase()
    case.student = Student(workers, code_of_stage(read_submission(chosen.solution, chosen), stage, chosen, {}))
    yield case
    case.student.close()


def test_two_calls_may_drop_the_same_by_chance(case):
    outputs = iter([np.ones((2, 2)), np.ones((2, 2)), np.eye(2)])
    case.assert_chance(lambda: next(outputs))
    assert next(outputs, None) is None  # the third one was asked for


def test_calls_that_never_differ_drop_nothing_anew(case):
    with pytest.raises(Incorrect, match="two calls with a dropout"):
        case.assert_chance(lambda: np.ones((2, 2)))
