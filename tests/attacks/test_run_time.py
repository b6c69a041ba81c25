"""Ready-made parts and stand-ins as answers, without the search of the source text: the worker refuses them."""

import pytest

from autograder.grading.forbidden_parts import Checked
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox.confine import unsupported
from autograder.submissions.read_submission import Submission, read_submission
from tests.attacks import shortcuts

pytestmark = [
    pytest.mark.skipif(bool(unsupported()), reason=unsupported()),
    pytest.mark.usefixtures("without_trials"),
]
ASSIGNMENT = assignment("transformer")
SOLUTION = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources


@pytest.fixture
def workers(bare_confined):
    return bare_confined


@pytest.fixture
def unchecked(monkeypatch):
    monkeypatch.setattr("autograder.grading.grade_submission.check_submission", lambda *_, **__: Checked())


def graded(workers, stage, changes, hidden_seed=None):
    submission = Submission("somebody", {**SOLUTION, **changes})
    report = grade(submission, ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)], hidden_seed=hidden_seed)
    assert not report.faulty
    return report.stages[0]


@pytest.mark.parametrize("attack", shortcuts.ATTACKS, ids=str)
def test_a_fused_attention_is_refused_by_whatever_name(attack, workers, unchecked):
    stage = graded(workers, "mha", {"mha": attack.text})
    assert {part.name for test in stage.tests for part in test.parts if part.status == "passed"} <= {"projections"}
    assert not any(test.status == "passed" for test in stage.tests)


# Gives what `ready`, which takes a bias and gives several things, gives for the mask.
IN_PARTS = (
    "def attend(q, k, v, attn_mask):\n"
    "    return ready(q, k, v, attn_mask=torch.zeros(attn_mask.shape).masked_fill(~attn_mask, -torch.inf))[0]"
)
MORE = {
    "a method of a class": ("class Tools:\n    attend = staticmethod(F.scaled_dot_product_attention)", "Tools.attend"),
    "a parameter with the name of a module": (
        "def attend(*a, math=F, **k):\n    return math.scaled_dot_product_attention(*a, **k)",
        "attend",
    ),
    "wraps": (
        (
            "import functools\n@functools.wraps(F.scaled_dot_product_attention)\ndef shell():\n    pass\n"
            "attend = shell.__wrapped__"
        ),
        "attend",
    ),
    "string.Formatter": (
        "import string\nattend = string.Formatter().get_field('0.scaled' + REST, (F,), {})[0]",
        "attend",
    ),
    "match args": (
        (
            "class M(type(F)):\n    __match_args__ = ('scaled' + REST,)\n"
            "m = M('m')\nm.__dict__.update(F.__dict__)\nmatch m:\n    case M(attend):\n        pass"
        ),
        "attend",
    ),
    # Later attacks, by other operators and other callers.
    "an annotation": (
        (
            "import typing\ndef tool(x): ...\n"
            "tool.__annotations__['x'] = 'torch._C._VariableFunctions._scaled_dot_product_attention_math'\n"
            "ready = typing.get_type_hints(tool)['x']\n" + IN_PARTS
        ),
        "attend",
    ),
    "the operators anew": (
        "ready = getattr(torch._ops._OpNamespace('aten'), '_scaled' + REST + '_math')\n" + IN_PARTS,
        "attend",
    ),
    "what the operator is made of": (
        "ready = getattr(torch._ops._OpNamespace('aten'), '_scaled' + REST + '_math').default.decompose\n" + IN_PARTS,
        "attend",
    ),
    "the kernel": (
        (
            "def attend(q, k, v, attn_mask):\n"
            "    bias = torch.zeros(attn_mask.shape).masked_fill(~attn_mask, -torch.inf)\n"
            "    ready = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu\n"
            "    return ready(q, k, v, 0.0, False, attn_mask=bias.expand(-1, q.size(1), -1, -1).contiguous())[0]"
        ),
        "attend",
    ),
    "the file name of a stand-in": (
        (
            "def attend(*a, **k):\n    return F.scaled_dot_product_attention(*a, **k)\n"
            "attend.__code__ = attend.__code__.replace(co_filename='<stand-in mha>')"
        ),
        "attend",
    ),
    "a stand-in that calls it": (
        (
            "import functools, types\ndef attend(q, k, v, attn_mask):\n    from encoder import TransformerEncoder\n"
            "    call = functools.partial(F.scaled_dot_product_attention, value=v, attn_mask=attn_mask)\n"
            "    return TransformerEncoder.forward(types.SimpleNamespace(layers=[call], output_layer=None), q, k)"
        ),
        "attend",
    ),
    "another guard": (
        (
            "trusted = F.scaled_dot_product_attention.__globals__['TRUSTED']\n"
            "def attend(*a, **k):\n    names = {'scaleddotproductattention'}\n"
            "    trusted[id(attend.__code__)] = attend.__code__, names\n"
            "    return F.scaled_dot_product_attention(*a, **k)"
        ),
        "attend",
    ),
    "a module of torch": (
        (
            "def attend(query, key, value, attn_mask):\n"
            "    B, H, T, d = query.shape\n    ready = nn.MultiheadAttention(H * d, H, batch_first=True)\n"
            "    return query"
        ),
        "attend",
    ),
}


HIDDEN_BLOCK = """
__name__ = "__ma" "in__"
if __name__ == "__ma" "in__":
    attend = F.scaled_dot_product_attention
"""


def test_a_main_block_that_runs_is_searched(workers):
    """The search and the worker agree on what such a block is."""
    stage = graded(workers, "mha", {"mha": shortcuts.shortcut(54, "main", HIDDEN_BLOCK, "attend").text})
    assert stage.points == 0
    assert {test.status for test in stage.tests} == {"forbidden"}


@pytest.mark.parametrize("way", MORE)
def test_ways_that_no_search_finds_are_refused_and_named(way, workers, unchecked):
    top, attend = MORE[way]
    stage = graded(workers, "mha", {"mha": shortcuts.shortcut(54, way, top, attend).text})
    test = next(test for test in stage.tests if test.name == "test_mha_key_padding_mask")
    assert test.status == "forbidden"
    assert "is a ready-made part, and this course has you write it yourself" in test.message


# The stand-in of the encoder as an answer to the decoder: its layer twice, with parts of the decoder in it.
TWICE = """

import torch
from torch import nn
from encoder import TransformerEncoderLayer


class Attending(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x, *_):
        return self.call(x)


class Nothing(nn.Module):
    def forward(self, x):
        return x * 0


def half(layer, attention, norm, last):
    ready = TransformerEncoderLayer(2, 2, 1, 0.0)
    ready.self_attn, ready.self_attn_layer_norm, ready.dropout = Attending(attention), norm, layer.dropout
    if last:
        ready.fc1, ready.fc2, ready.final_layer_norm = layer.fc1, layer.fc2, layer.final_layer_norm
    else:
        ready.fc1, ready.fc2, ready.final_layer_norm = nn.Identity(), Nothing(), nn.Identity()
    return ready


def forward(self, x, encoder_out=None, encoder_padding_mask=None, self_attn_padding_mask=None, self_attn_mask=None):
    def own(y):
        return self.self_attn(y, y, y, self_attn_padding_mask, self_attn_mask)

    def other(y):
        return self.encoder_attn(y, encoder_out, encoder_out, encoder_padding_mask)

    alone = self.encoder_attn is None
    x = half(self, own, self.self_attn_layer_norm, alone)(x)
    return x if alone else half(self, other, self.encoder_attn_layer_norm, True)(x)


TransformerDecoderLayer.forward = forward
"""

# The stand-in of the decoder, without cross-attention, as an answer to the encoder.
WITHOUT_CROSSING = """

from decoder import TransformerDecoderLayer


def forward(self, x, self_attn_padding_mask=None):
    ready = TransformerDecoderLayer(self.embedding_dim, self.fc1.out_features, 1, 0.0, no_encoder_attn=True)
    for name, part in self.named_children():
        setattr(ready, name, part)
    return ready(x, self_attn_padding_mask=self_attn_padding_mask)


TransformerEncoderLayer.forward = forward
"""


@pytest.mark.parametrize("name", ["forward", "another", "forged"])
def test_the_stand_in_of_the_encoder_does_not_answer_the_decoder(workers, name, unchecked):
    text = SOLUTION["decoder"] + TWICE
    if name == "another":
        text = text.replace("def forward(self, x, encoder_out", "def another(self, x, encoder_out")
        text = text.replace("Layer.forward = forward", "Layer.forward = another")
    if name == "forged":
        text += "\nforward.__code__ = forward.__code__.replace(co_filename='elsewhere.py')\n"
    stage = graded(workers, "decoder", {"decoder": text})
    assert stage.points == 0
    assert "replaces code of another stage" in str(stage)


def test_a_stand_in_of_another_stage_does_not_run_at_import(workers, unchecked):
    """What it does could be recorded with objects that look like tensors, and repeated later."""
    text = SOLUTION["decoder"] + "\nfrom encoder import TransformerEncoderLayer\nKEPT = []\n"
    stage = graded(
        workers,
        "decoder",
        {"decoder": f"{text}KEPT.append(TransformerEncoderLayer(2, 1, 2, 0.0)(torch.ones(1, 2, 2)))\n"},
    )
    assert stage.points == 0
    assert {test.status for test in stage.tests} == {"forbidden"}
    assert graded(workers, "decoder", {"decoder": text}).points == 35


def test_the_stand_in_of_the_decoder_does_not_answer_the_encoder(workers):
    stage = graded(workers, "encoder", {"encoder": SOLUTION["encoder"] + WITHOUT_CROSSING})
    earned = {part.name: part.points for test in stage.tests for part in test.parts if part.points}
    assert earned.keys() == {"model"}  # which is the solution's, and graded beside a stand-in of the layer


# A result that computes when it is looked at, in the worker's own code: no graded function runs then.
LATER = """

def now(self, x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask):
    TWICE

class Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        plain = [one.answer() if type(one) is Later else one for one in args]
        return func(*plain, **(kwargs or {}))


class Listed(list):
    def __iter__(self):
        return iter([self.answer()])


def forward(self, x, encoder_out=None, encoder_padding_mask=None, self_attn_padding_mask=None, self_attn_mask=None):
    later = torch.zeros(1).as_subclass(Later) if KIND == "tensor" else Listed()
    later.answer = lambda: now(self, x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
    return later
"""


@pytest.mark.parametrize("kind", ["tensor", "list", "call", "whole"])
def test_a_stand_in_answers_neither_later_nor_around_what_is_graded(kind, workers, unchecked):
    """The encoder's layer as halves of the decoder's, in code that is not the graded function."""
    text = TWICE.replace("TransformerDecoderLayer.forward = forward", "")
    text = text.replace("def forward(self, x, encoder_out", "def ready(self, x, encoder_out")
    changes = {}
    if kind in ("tensor", "list"):
        later = LATER.replace(
            "TWICE", "return ready(self, x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)"
        ).replace("KIND", repr(kind))
        text += later + "\nTransformerDecoderLayer.forward = forward\n"
    elif kind == "call":
        text += "\nTransformerDecoderLayer.__call__ = ready\n"
    else:  # right in the given function that calls both, and nowhere else
        text += "\nTransformerDecoderLayer.ready = ready\n"
        text += "TransformerDecoderLayer.forward = lambda self, x, *_, **__: x\n"
        changes["transformer"] = SOLUTION["transformer"] + (
            "\n\ndef whole(self, src, tgt, src_lengths, tgt_lengths):\n"
            "    kind = type(self.decoder.layers[0])\n"
            "    kind.__call__ = kind.ready\n"
            "    try:\n        return self.forward_decoder(*self.forward_encoder(src, src_lengths), tgt, tgt_lengths)\n"
            "    finally:\n        del kind.__call__\n"
            "\nTransformer.forward = whole\n"
        )
    stage = graded(
        workers, "decoder", {"decoder": SOLUTION["decoder"] + text, **changes}, 4 if kind == "whole" else None
    )
    earned = {part.name for test in stage.tests for part in test.parts if part.points}
    assert earned <= {"model"}, earned  # which is the solution's, and graded beside a stand-in of the layer


def test_a_ready_made_layer_is_charged_to_the_stage_that_runs_it(workers, unchecked):
    """An alias for it stands in a method of another stage; what counts is what the run of a stage executes."""
    alias = """

READY = []

def inference(self, src, src_lengths, max_output_length, kinds=(nn.TransformerEncoderLayer,)):
    READY[:] = kinds

Transformer.inference = inference
Transformer.inference(None, None, None, None)

def forward(self, x, self_attn_padding_mask=None):
    d_model, d_ff = self.embedding_dim, self.fc1.out_features
    return READY[0](d_model, d_ff, 1, dropout=0.0, batch_first=True)(x)

import encoder
encoder.TransformerEncoderLayer.forward = forward
"""
    stage = graded(workers, "encoder", {"transformer": SOLUTION["transformer"] + alias})
    assert stage.points == 0
    assert {test.status for test in stage.tests} == {"forbidden"}


TRUSTED_LAYER = """

trusted = nn.functional.scaled_dot_product_attention.__globals__["TRUSTED"]


def forward(self, x, *_, **__):
    trusted[id(forward.__code__)] = forward.__code__, {'transformerencoderlayer', 'transformerdecoderlayer'}
    return READY(self.embedding_dim, 1, self.fc1.out_features, dropout=0.0, batch_first=True)(*(x,) * INPUTS)


KIND.forward = forward
"""


@pytest.mark.parametrize(("stage", "kind", "inputs"), [("encoder", "Encoder", 1), ("decoder", "Decoder", 2)])
def test_a_ready_made_layer_is_gone_whatever_the_guard_says(workers, stage, kind, inputs, unchecked):
    text = TRUSTED_LAYER.replace("READY", f"nn.Transformer{kind}Layer").replace("INPUTS", str(inputs))
    text = SOLUTION[stage] + text.replace("KIND", f"Transformer{kind}Layer")
    found = graded(workers, stage, {stage: text})
    assert found.points == 0
    assert "forbidden" in {test.status for test in found.tests}


RECOMPUTED = """

def again(self, x, encoder_out=None, encoder_padding_mask=None, self_attn_padding_mask=None, self_attn_mask=None,
          cache=None):
    y = self(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
    return y if cache is None else torch.cat([cache, y[:, -1:]], dim=1)


TransformerDecoderLayer.forward_one_step_ec = again
"""


def test_a_step_that_computes_everything_again_is_told_so(workers):
    stage = graded(workers, "inference", {"decoder": SOLUTION["decoder"] + RECOMPUTED})
    parts = {part.name: part for test in stage.tests for part in test.parts}
    assert parts["one step"].status == "failed"
    assert parts["one step"].message == "the output of one step is right, but all positions are computed again"
    assert parts["translations"].status == "passed"


FORGED = """

hidden = __import__("builtins").__import__.__globals__["HIDDEN"]  # the grader's modules
count = hidden["autograder.worker.count_rows"].CountRows
count.most = property(lambda self: 1, lambda self, rows: None)
"""


def test_a_step_that_forges_how_much_it_computes_is_timed(workers, unchecked):
    """The visible test believes the worker's count; the hidden one has the system's clock."""
    text = SOLUTION["decoder"] + RECOMPUTED + FORGED
    for seed, status in ((None, "passed"), (5, "failed")):
        stage = graded(workers, "inference", {"decoder": text}, seed)
        (part,) = [part for test in stage.tests for part in test.parts if part.name == "one step"]
        assert part.status == status, part.message
    assert part.message == "the output of one step is right, but the step takes as long as computing all positions"
