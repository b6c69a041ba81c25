"""Fair marks: a slip costs once, and what no docstring says costs nothing. (The audit grades correct formulations.)"""

import re

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment, every_assignment
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.quick import some

ASSIGNMENT = assignment("transformer")


# A slip costs once


KEYS, PAIRS = "key_padding_mask[:, None, None, :] != 0", "attention_mask[:, None, :, :] != 0"


@pytest.mark.parametrize("seed", some([None, 3], every=2))
@pytest.mark.parametrize(
    ("slips", "mistake"),
    [((KEYS,), "mha.padding-mask-one"), ((PAIRS,), "mha.attention-mask-one"), ((KEYS, PAIRS), "mha.masks-one")],
)
def test_masks_read_as_ones_cost_two_points_and_are_named(workers, slips, mistake, seed):
    """In the original course's data masks hold 0 and 1 only, and the docstring alone says that others count too."""
    sources = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
    for text in slips:
        assert text in sources["mha"]
        sources["mha"] = sources["mha"].replace(text, text.replace("!= 0", "== 1"))
    report = grade(Submission("ones", sources), ASSIGNMENT, workers, hidden_seed=seed)
    assert report.points == 108
    (lost,) = [test for test in report.tests if test.status != "passed"]
    assert (lost.mistake, lost.hidden) == (mistake, False)


def test_layers_that_make_ones_of_their_masks_lose_nothing(workers):
    """The slip is one of attention; it does not cost again in every layer."""
    sources = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
    sources["encoder"] = sources["encoder"].replace("=self_attn_padding_mask)", "=self_attn_padding_mask.eq(1))")
    assert sources["encoder"].count(".eq(1)") == 1
    # None has no such method
    sources["encoder"] = sources["encoder"].replace(".eq(1)", ".eq(1) if self_attn_padding_mask is not None else None")
    report = grade(Submission("ones", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("encoder")], hidden_seed=3)
    assert report.points == 30


@pytest.mark.usefixtures("without_trials")
def test_attention_is_graded_where_the_projection_does_not_work(workers):
    sources = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
    sources["mha"] = sources["mha"].replace("return split_heads(self.W_q(Q))", "return split_heads(self.W_q(no_such))")
    report = grade(Submission("projection", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")])
    assert [test.status for test in report.tests] == ["error", "passed", "passed", "passed"]


# Precision

UPCAST = """

def in_float32(scores, dim):
    return torch.softmax(scores, dim=dim, dtype=torch.float32).to(scores.dtype)
"""


@pytest.mark.parametrize("seed", some([None, 3], every=2))
@pytest.mark.parametrize("chosen", every_assignment(), ids=lambda chosen: chosen.name)
def test_a_softmax_in_float32_is_right(workers, chosen, seed):
    """As in published code: scores are filled with the lowest number of their type, and softmax works in float32.

    The tests work in float64, whose lowest number is -infinity in float32.
    """
    solution = read_submission(chosen.solution, chosen).sources
    sources = {}
    for module, text in solution.items():
        changed = text.replace("torch.softmax(", "in_float32(") + UPCAST * ("torch.softmax(" in text)
        changed = re.sub(r"(log_softmax\(\w+)", r"\1.float()", changed).replace(
            "-math.inf)", "torch.finfo(torch.float32).min)"
        )
        sources[module] = changed
    stages = [stage for stage in chosen.stages if any(sources[module] != solution[module] for module in stage.modules)]
    assert stages
    report = grade(Submission("float32", sources), chosen, workers, stages, hidden_seed=seed)
    assert [(test.name, test.message) for test in report.tests if test.points < test.max_points] == []
