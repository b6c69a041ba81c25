"""A slip costs once: functions are graded beside stand-ins of what they use of their stage, and earn none by them."""

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment, assignments
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import standin
from tests.support.quick import some
from tests.support.slips import source

pytestmark = pytest.mark.usefixtures("without_trials")


def points(workers, name, stage, changes, seed=None):
    """The points of a changed solution in a stage, by test, or "test.part"."""
    chosen = assignment(name)
    sources = read_submission(chosen.solution, chosen).sources
    for module, change in changes.items():
        sources[module] = change(sources[module])
    (found,) = grade(Submission("", sources), chosen, workers, [chosen.stage(stage)], hidden_seed=seed).stages
    assert not any(test.status == "fault" for test in found.tests)
    return {part.name or test.name: part.points for test in found.tests for part in test.parts or (test,)}


def replaced(old, new):
    def change(text):
        assert text.count(old) == 1, old
        return text.replace(old, new)

    return change


ATTENTION = "MultiHeadAttention.compute_scaled_dot_product_attention"
HEAD = "\n\ndef attend(self, query, key, value, key_padding_mask=None, attention_mask=None):\n"
MERGED = ".transpose(1, 2).flatten(2)"
SCORES = (
    "    scores = query @ key.transpose(-2, -1)\n"
    "    if key_padding_mask is not None:\n"
    "        scores = scores.masked_fill(key_padding_mask[:, None, None] != 0, -math.inf)\n"
    "    if attention_mask is not None:\n"
    "        scores = scores.masked_fill(attention_mask[:, None] != 0, -math.inf)\n"
)
# What no attention is, and what of its stage such a function may earn beside the projections.
NO_ATTENTION = {
    "nothing": ("    return query.new_zeros(query.size(0), query.size(2), query.size(1) * query.size(3))\n", {}),
    "the queries": (f"    return query{MERGED}\n", {}),
    "the mean of the values": (f"    return (value.mean(2, keepdim=True) + 0 * query){MERGED}\n", {}),
    "means of everything": (
        f"    return (query + value.mean(2, keepdim=True) + key.mean(2, keepdim=True)){MERGED}\n",
        {},
    ),
    "no masks and no scale": (
        f"    return (torch.softmax(query @ key.transpose(-2, -1), -1) @ value){MERGED}\n",
        {"test_mha_different_query_and_key"},
    ),
    "no scale": (
        SCORES + f"    return (torch.softmax(scores, -1) @ value){MERGED}\n",
        {
            "test_mha_key_padding_mask",
            "masks of 0 and 1",
            "masks of other numbers and of booleans",
            "test_mha_different_query_and_key",
        },
    ),
}


@pytest.mark.parametrize("name", some(NO_ATTENTION, every=2, also_slow=["nothing"]))
def test_masks_earn_points_only_where_they_work(workers, name):
    body, earned = NO_ATTENTION[name]
    text = f"{HEAD}{body}\n\n{ATTENTION} = attend\n"
    found = points(workers, "transformer", "mha", {"mha": lambda source: source + text})
    assert {part for part, number in found.items() if number} == {"projections", *earned}


def test_a_model_beside_a_wrong_layer_keeps_its_points(workers):
    wrong = {"encoder": lambda text: text + "\n\nTransformerEncoderLayer.forward = lambda self, x, *_, **__: 0 * x\n"}
    found = points(workers, "transformer", "encoder", wrong)
    assert {part: number > 0 for part, number in found.items()} == {
        "layer": False,
        "padding": False,
        "dropout": False,
        "model": True,
    }


LOOP = (
    "\n\nBlock.forward = lambda self, x, mask=None: x + no_such_name\n"
    "\n\nDecoderTransformer.forward = lambda self, tokens: self.blocks[0](tokens)\n"
)


def test_what_a_function_uses_does_not_answer_it(workers):
    """With the layer of the stage gone, the model's own loop around it still has to be right."""
    found = points(workers, "variants", "lm", {"language_model": lambda text: text + LOOP})
    assert {part for part, number in found.items() if number} == {"padding", "longest"}  # of the loss, which is right


# Functions of a stage that answer each other.
SIBLINGS = {
    "heads": (
        "variants",
        """
MultiHeadAttentionEfficient.forward = lambda self, *_: no_such_name
AttentionHead.forward = lambda self, x, mask=None: MultiHeadAttentionEfficient.forward(self, x, mask)
MultiHeadAttentionSimple.forward = AttentionHead.forward
""",
    ),
    "scoring": (
        "attention",
        """
DotProductAttention.forward = lambda self, *_: no_such_name
BilinearAttention.forward = lambda self, q, k, v, n=None: DotProductAttention()(q @ self.M, k, v, n)
""",
    ),
}


@pytest.mark.parametrize("stage", SIBLINGS)
def test_a_function_gets_no_stand_in_of_one_that_would_answer_it(workers, stage):
    name, more = SIBLINGS[stage]
    found = points(workers, name, stage, {stage: lambda text: text + more})
    kept = {"heads": set(), "scoring": {"test_masked_softmax", "test_additive_attention"}}[stage]
    chosen = assignment(name).stage(stage)
    wanted = {part for test in kept for part in chosen.parts[test]}
    assert {part for part, number in found.items() if number} <= wanted


@pytest.mark.parametrize("name", assignments())
def test_there_is_a_stand_in_of_what_functions_use_of_their_stage(name):
    chosen = assignment(name)
    for stage in chosen.stages:
        for used in {one for several in stage.uses.values() for one in several}:
            module = used.partition(".")[0]
            assert used in standin(chosen.standins / f"{module}.py")[1], used


def test_a_side_effect_costs_a_tenth(workers):
    text = source("transformer", "encoder")
    line = next(line.strip() for line in text.splitlines() if "self_attn_layer_norm(x + " in line)
    inner = line[line.index("(x + ") + 5 : line.rindex(")")]
    change = replaced(line, f"x += {inner}\n        x = self.self_attn_layer_norm(x)")
    found = points(workers, "transformer", "encoder", {"encoder": change}, seed=3)
    stage = assignment("transformer").stage("encoder")
    most = stage.parts["test_encoder_output"]
    assert found == {**most, "layer": round(0.9 * most["layer"], 2)}
