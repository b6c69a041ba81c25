"""Results of student code as plain types."""

import numpy as np
import pytest

from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import assignment
from autograder.sandbox.remote_modules import Student
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage
from autograder.worker.plain_results import plain_result

LLM = assignment("llm")


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32, np.float64, np.bool_])
def test_an_element_of_an_array_is_a_number(kind):
    for value in (kind(1), [kind(1)], (2, [kind(1)])):
        plain = plain_result(value)
        assert plain == value
        while isinstance(plain, (list, tuple)):
            plain = plain[-1]
        assert type(plain) in (int, float, bool)


def test_a_class_that_looks_like_such_an_element_is_not_asked():
    class Number(np.int64):
        def item(self):  # type: ignore[override]
            raise AssertionError

    assert type(plain_result(Number(1))) is Number


@pytest.mark.parametrize("returned", ["np.array(new), calls", "{'tokens': new}", "object()", "None"])
def test_what_is_no_list_costs_the_test_and_is_no_fault(workers, returned):
    """A test takes the result apart."""
    text = read_submission(LLM.solution, LLM).sources
    module = text["speculative"].replace("import torch\n", "import numpy as np\nimport torch\n", 1)
    head, end = module.rsplit("    return ", 1)
    new = "tokens[len(prompt) : len(prompt) + length]"
    sources = {**text, "speculative": f"{head}    new = {new}\n    return {returned}\n{end[end.index('###') - 4 :]}"}
    stage = LLM.stage("speculative")
    student = Student(workers, code_of_stage(Submission("", sources), stage, LLM, {}))
    case = stage_tests(stage)["test_speculate_extra_credit"]
    case.student = student
    result = run_test("test_speculate_extra_credit", case, stage)[0]
    assert result.status in ("failed", "error")
    assert "Foreign" not in str(result)
    student.close()
