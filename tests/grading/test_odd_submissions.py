"""A sample of submissions that nobody meant; `python -m tests.stress.fuzz_submissions` tries a thousand."""

import pytest

from tests.stress.fuzz_submissions import Fuzzing, is_fault


@pytest.fixture(scope="module")
def fuzzing(tmp_path_factory):
    fuzzing = Fuzzing(tmp_path_factory.mktemp("fuzz"))
    yield fuzzing
    fuzzing.close()


@pytest.mark.parametrize("number", range(12))
def test_no_submission_is_a_fault_of_the_grader(fuzzing, number):
    trial = fuzzing.trial(number)
    assert not is_fault(trial), trial
    assert sum(trial["verdicts"].values()) >= 1
