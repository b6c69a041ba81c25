"""Helpers that the five files share are there in every stage, and what is wrong in one file costs its stage only."""

from typing import Any

import pytest

from autograder.grading.grade_submission import grade
from autograder.grading.results import Report
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.quick import some

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
REQUIRED = ["mha", "pe", "encoder", "decoder"]
NORM = "x = self.self_attn_layer_norm(x + self.dropout(attended))"
ADD_NORM = "\n\ndef add_norm(norm, x, y):\n    return norm(x + y)\n"


def changed(sources: dict[str, str], module: str, *changes: tuple[str, str]) -> dict[str, str]:
    text = sources[module]
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return {**sources, module: text}


def with_helper(helper: str, imported: str, used: str, lender: str = "mha", norm: str = NORM) -> dict[str, str]:
    """The solution with a text at the end of one module, and an import and another line in the encoder."""
    sources = {**SOURCES, lender: SOURCES[lender] + helper}
    given = "from mha import MultiHeadAttention\n"
    return changed(sources, "encoder", (given, given + imported + "\n"), (norm, used))


USED = "x = add_norm(self.self_attn_layer_norm, x, self.dropout(attended))"
SHARED = with_helper(ADD_NORM, "from mha import add_norm", USED)


def graded(workers, sources: dict[str, str], stages: list[str] = REQUIRED, seed: int | None = None) -> Report:
    return grade(Submission("shared", sources), ASSIGNMENT, workers, map(ASSIGNMENT.stage, stages), hidden_seed=seed)


def points(report: Report) -> dict[str, float]:
    return {stage.name: stage.points for stage in report.stages}


FULL = {"mha": 30, "pe": 5, "encoder": 30, "decoder": 35}

SHARING: dict[str, dict[str, str]] = {
    "a function": SHARED,
    "of the module": with_helper(
        ADD_NORM, "import mha", "x = mha.add_norm(self.self_attn_layer_norm, x, self.dropout(attended))"
    ),
    "all names": with_helper(ADD_NORM, "from mha import *", USED),
    "the names that are listed": with_helper(ADD_NORM + "\n__all__ = ['add_norm']\n", "from mha import *", USED),
    # The stand-in has a function of this name for itself.
    "a private function": with_helper(
        ADD_NORM.replace("add_norm", "_project"), "from mha import _project as add_norm", USED
    ),
    "a constant": with_helper(
        "\nONE = 1.0\n", "from pe import ONE", NORM.replace("attended", "ONE * attended"), lender="pe"
    ),
    "a module that is imported there": with_helper(
        "\nimport operator\n", "from mha import operator", NORM.replace("x + ", "operator.add(x, 0.0) + ")
    ),
    "a method of attention": with_helper(
        "\n\ndef same(self, x):\n    return x.view(*x.shape[:2], self.num_heads * self.d_k)\n\n"
        "MultiHeadAttention.same = same\nMultiHeadAttention.size = property(lambda self: self.d_model)\n",
        "",
        NORM.replace("(attended)", "(self.self_attn.same(attended)) * self.self_attn.size / self.embedding_dim"),
    ),
    "a class that builds on attention": changed(
        with_helper(
            "\n\nclass SelfAttention(MultiHeadAttention):\n    def forward(self, x, mask):\n"
            "        return super().forward(x, x, x, mask)\n",
            "from mha import SelfAttention",
            NORM,
        ),
        "encoder",
        ("self.self_attn = MultiHeadAttention(", "self.self_attn = SelfAttention("),
        ("(x, x, x, key_padding_mask=self_attn_padding_mask)", "(x, self_attn_padding_mask)"),
    ),
}


@pytest.mark.parametrize("what", some(SHARING, every=3))
def test_shared_names_cost_nothing(workers, what):
    assert points(graded(workers, SHARING[what], seed=4)) == FULL


def test_a_chain_of_shared_names_costs_nothing(workers):
    sources = {**SHARED, "pe": SOURCES["pe"] + ADD_NORM}
    sources["mha"] = SOURCES["mha"].replace("import torch\n", "import torch\nfrom pe import add_norm\n", 1)
    assert points(graded(workers, sources, seed=4)) == FULL


# What is wrong in the lender

WRONG = {
    "syntax": ("def add_norm", "def add_norm(", "SyntaxError: "),
    "exception": ("def add_norm", "print(no_such)\n\n\ndef add_norm", "NameError: name 'no_such' is not defined"),
    "exit": ("def add_norm", "raise SystemExit(3)\n\n\ndef add_norm", "SystemExit: 3"),
}


@pytest.mark.parametrize("what", WRONG)
def test_who_needs_helpers_of_a_module_that_cannot_be_imported_is_told(workers, what):
    old, new, message = WRONG[what]
    report = graded(workers, changed(SHARED, "mha", (old, new)), ["encoder", "decoder"])
    assert points(report) == {"encoder": 0, "decoder": 35}
    told = report.tests[0].message
    assert told.startswith(f"ImportError: mha.py cannot be imported ({message}")
    assert told.endswith(", so its 'add_norm' is missing here")
    assert "encoder.py" in report.tests[0].details[-1]
    # After the stage of the module itself has said so, it is not run again.
    told = graded(workers, changed(SHARED, "mha", (old, new))).stages[2].tests[0].message
    assert told == "ImportError: mha.py cannot be imported (see stage mha), so its 'add_norm' is missing here"


def test_who_needs_helpers_of_a_missing_module_is_told(workers):
    sources = {name: text for name, text in SHARED.items() if name != "mha"}
    submission = Submission("missing", sources, {"mha": "mha.py is missing from the submission"})
    report = grade(submission, ASSIGNMENT, workers, [ASSIGNMENT.stage("encoder")])
    assert report.tests[0].message == (
        "ImportError: mha.py is missing from the submission, so its 'add_norm' is missing here"
    )


def test_a_name_that_is_nowhere_is_named_as_python_does(workers):
    sources = changed(SHARED, "mha", ("def add_norm", "def norm_add"))
    (test,) = graded(workers, sources, ["encoder"]).tests
    assert test.message.startswith("ImportError: cannot import name 'add_norm' from 'mha'")


HARM = {
    "hangs": "while True: pass",
    "changes torch": "torch.softmax = torch.matmul = None",
    "changes the type": "torch.set_default_dtype(torch.float16)",
    "ends": "import os; os._exit(3)",
}


@pytest.mark.parametrize("what", HARM)
def test_a_module_that_does_harm_costs_nothing_where_its_helpers_are_not_needed(workers, what):
    sources = {**SOURCES, "mha": SOURCES["mha"] + "\n" + HARM[what] + "\n"}
    assert points(graded(workers, sources, ["pe", "encoder", "decoder"])) == {"pe": 5, "encoder": 30, "decoder": 35}


def test_what_other_stages_grade_is_not_lent(workers):
    """Wrong attention under a helper that is right costs its own points only."""
    sources = changed(SHARED, "mha", ("math.sqrt(self.d_k)", "math.sqrt(self.d_model)"))
    lent = points(graded(workers, sources, seed=4))
    assert lent["mha"] < FULL["mha"]
    assert lent == {**FULL, "mha": lent["mha"]}
    # Also where a class of the student's own inherits it.
    inherited = changed(
        SHARING["a class that builds on attention"], "mha", ("math.sqrt(self.d_k)", "math.sqrt(self.d_model)")
    )
    assert points(graded(workers, inherited, seed=4)) == lent


# State and given parts that the stages share


def test_state_that_two_stages_share_costs_nothing(workers):
    """What `forward_encoder` keeps is there in `inference`, although another stage writes it."""
    sources = changed(
        SOURCES,
        "transformer",
        (
            "return enc_output, src_padding_mask",
            "self.memory = enc_output\n        return enc_output, src_padding_mask",
        ),
        ("sentence_enc_output = enc_output[b", "sentence_enc_output = self.memory[b"),
    )
    assert graded(workers, sources, ["encoder", "inference"], seed=4).points == 40


def test_decoding_at_once_by_a_step_costs_nothing(workers):
    """`forward` calls what is written in the stage after it."""
    body = SOURCES["decoder"].partition("        # Self-attention over the target, dropout")[2]
    body = body[: body.index("        return x\n")]
    step = (
        "x = self.forward_one_step_ec(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)\n"
    )
    sources = changed(SOURCES, "decoder", (body, "\n        " + step))
    assert graded(workers, sources, ["decoder", "inference"], seed=4).points == 45


# Nothing that is not allowed is lent


def test_a_forbidden_part_reaches_no_other_stage(workers):
    """A ready-made layer in pe.py would cost 5 points and earn 30."""
    helper = "\n\ndef add_norm(norm, x, y):\n    return nn.TransformerEncoderLayer(8, 2, 8) and norm(x + y)\n"
    sources = with_helper(helper, "from pe import add_norm", USED, lender="pe")
    report = graded(workers, sources, ["pe", "encoder"])
    assert points(report) == {"pe": 0, "encoder": 0}
    assert report.tests[1].message == (
        "ImportError: pe.py contains something that is not allowed, so its 'add_norm' is missing here"
    )


def test_the_stand_in_of_a_later_stage_computes_nothing(workers):
    """A decoder layer without cross-attention is an encoder layer."""
    body: Any = SOURCES["encoder"].partition("        # Self-attention, dropout")[2]
    body = body[: body.index("        return x\n")]
    step = """
        self.encoder_attn = self.encoder_attn_layer_norm = None
        from decoder import TransformerDecoderLayer
        x = TransformerDecoderLayer.forward(self, x, None, None, self_attn_padding_mask)
"""
    sources = changed(SOURCES, "encoder", (body, step))
    stub = "    def forward(self, *_, **__):\n        raise NotImplementedError\n"
    sources["decoder"] = "from torch import nn\n\n\nclass TransformerDecoderLayer(nn.Module):\n" + stub
    assert points(graded(workers, sources, ["encoder"])) == {"encoder": 18}  # of the model, which is right
