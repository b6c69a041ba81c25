"""What a single call does not show: state that is kept between calls, large scores, masks together; on 20 seeds."""

from dataclasses import dataclass

import pytest

from autograder.grading.grade_submission import grade
from autograder.grading.graded_case import StageTestCase
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import assignment
from autograder.sandbox.last_call import KEPT
from autograder.sandbox.remote_modules import Student
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage
from tests.support.quick import some

pytestmark = pytest.mark.usefixtures("without_trials")

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources

# Lines of the solution.
SCORES = "scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)  # (B, H, T_q, T_k)"
WEIGHTS = "torch.softmax(scores, dim=-1)"
ATTENTION_MASK = "attention_mask[:, None, :, :] != 0"
PADDING_MASK = "key_padding_mask[:, None, None, :] != 0"
ADD_POSITIONS = "return x + self.pe[:, :T]"
SOURCE_MASK = "src_padding_mask = length_to_padding_mask(src_lengths, device=src.device)"
TARGET_MASK = "tgt_padding_mask = length_to_padding_mask(tgt_lengths, device=tgt.device)"
CAUSAL_MASK = "subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)  # (T_d, T_d) -> (1, T_d, T_d)\n        dec"
LAYER_MASKS = "(x, x, x, self_attn_padding_mask, self_attn_mask)"
ENCODER_MASK = "attended = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask)"
LAST_MASK = "last_mask = self_attn_mask[:, -1:]"
DECODED = "encoder_padding_mask=src_padding_mask,\n        )\n        ### END SOLUTION\n        return dec_output"
STOP = "next_token.item() == self.eos_idx"
DROPOUT = "self.dropout(attended)"
OVERFLOW = "(scores.exp() / scores.exp().sum(dim=-1, keepdim=True))"


@dataclass(frozen=True)
class Bug:
    """A change of the solution, and part of what the student reads."""

    what: str
    stage: str
    module: str
    old: str
    new: str
    says: str


# A kept mask that no longer fits raises an error. The message then says that a new object would not raise it: KEPT.
def kept(name: str, value: str, size: str = "") -> str:
    """Code that computes a value at the first call only, or at the first call of each size."""
    key = f'f"{name} {{tuple({size}.shape)}}"' if size else repr(name)
    return f"self.__dict__.setdefault({key}, {value})"


BUGS = [
    Bug("softmax that overflows", "mha", "mha", WEIGHTS, OVERFLOW, "NaN"),
    Bug(
        "shared mask beside padding",
        "mha",
        "mha",
        ATTENTION_MASK,
        """(
                attention_mask.flatten()[: scores[:, :1].numel()].view(-1, 1, *attention_mask.shape[1:]) != 0
                if key_padding_mask is None or len(attention_mask) == len(key_padding_mask)
                else torch.zeros_like(scores[:1, :1])[:, :, :, :] != 0
            )""",
        "wrong values",
    ),
    Bug(
        "both masks in place",
        "mha",
        "mha",
        SCORES,
        SCORES + "\n        if key_padding_mask is not None and attention_mask is not None:"
        "\n            key_padding_mask.ne_(0)",
        "modifies key_padding_mask, one of its arguments",
    ),
    Bug(
        "attention mask kept",
        "mha",
        "mha",
        ATTENTION_MASK,
        f"{kept('mask', 'attention_mask')}[:, None, :, :] != 0",
        "depends on earlier calls",
    ),
    Bug(
        "table cut",
        "pe",
        "pe",
        ADD_POSITIONS,
        "self.pe = self.pe[:, :T]\n        return x + self.pe",
        "pe after a call: wrong shape",
    ),
    Bug(
        "mask of the layer kept",
        "encoder",
        "encoder",
        ENCODER_MASK,
        ENCODER_MASK.replace(
            "=self", "=" + kept("mask", "self_attn_padding_mask") + " if self_attn_padding_mask is not None else self"
        ),
        KEPT,
    ),
    Bug(
        "source mask kept",
        "encoder",
        "transformer",
        SOURCE_MASK,
        "src_padding_mask = "
        + kept("mask", SOURCE_MASK.partition(" = ")[2])
        + "\n        if src_padding_mask.shape != src.shape:\n            "
        + "self.mask = "
        + SOURCE_MASK,
        "depends on earlier calls",
    ),
    Bug(
        "causal mask of the layer kept",
        "decoder",
        "decoder",
        LAYER_MASKS,
        LAYER_MASKS.replace(
            "self_attn_mask)",
            "None if self_attn_mask is None else " + kept("mask", "self_attn_mask") + "[:, : x.size(1), : x.size(1)])",
        ),
        "depends on earlier calls",
    ),
    Bug(
        "longest causal mask kept",
        "decoder",
        "transformer",
        CAUSAL_MASK,
        kept("mask", "subsequent_mask(tgt.size(1))") + "[None, : tgt.size(1), : tgt.size(1)]\n        dec",
        KEPT,
    ),
    Bug(
        "mask of the step kept",
        "inference",
        "decoder",
        LAST_MASK,
        f"last_mask = {kept('mask', 'self_attn_mask')}[:, x.size(1) - 1 : x.size(1), : x.size(1)]",
        KEPT,
    ),
    *(
        Bug(f"{name} kept by size", stage, module, old, new, "depends on earlier calls")
        for name, stage, module, old, new in (
            (
                "attention mask",
                "mha",
                "mha",
                ATTENTION_MASK,
                f"{kept('mask', 'attention_mask', 'attention_mask')}[:, None, :, :] != 0",
            ),
            (
                "padding mask",
                "mha",
                "mha",
                PADDING_MASK,
                f"{kept('mask', 'key_padding_mask', 'key_padding_mask')}[:, None, None, :] != 0",
            ),
            (
                "mask",
                "encoder",
                "encoder",
                ENCODER_MASK,
                ENCODER_MASK.replace(
                    "=self",
                    "=x[..., 0] * 0 if self_attn_padding_mask is None else "
                    + kept("mask", "self_attn_padding_mask", "x")
                    + " if 1 else self",
                ),
            ),
            (
                "source mask",
                "encoder",
                "transformer",
                SOURCE_MASK,
                "src_padding_mask = " + kept("mask", SOURCE_MASK.partition(" = ")[2], "src"),
            ),
            (
                "source mask",
                "decoder",
                "transformer",
                DECODED,
                "encoder_padding_mask="
                + kept("mask", "src_padding_mask", "src_padding_mask")
                + ",\n        )\n        return dec_output",
            ),
            (
                "mask of the step",
                "inference",
                "decoder",
                LAST_MASK,
                "last_mask = " + kept("mask", "self_attn_mask[:, -1:]", "self_attn_mask"),
            ),
        )
    ),
    Bug(
        "padding by token",
        "decoder",
        "transformer",
        TARGET_MASK,
        "tgt_padding_mask = (tgt == 1).long()",
        "wrong values",
    ),
    Bug(
        "sixty positions",
        "decoder",
        "transformer",
        "= subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)  # (T_d, T_d) -> (1",
        "= subsequent_mask(min(tgt.size(1), 60), device=tgt.device).unsqueeze(0)  # (T_d, T_d) -> (1",
        "needs an attention_mask",
    ),
    Bug("tokens compared by identity", "inference", "transformer", STOP, STOP.replace("==", "is"), "continues after"),
]


def hidden_results(workers, sources: dict[str, str], stage_name: str, seeds):
    """The results of the hidden tests of a stage for each seed."""
    stage = ASSIGNMENT.stage(stage_name)
    codes = [code_of_stage(Submission("", code), stage, ASSIGNMENT, {}) for code in (sources, SOURCES)]
    student, reference = (Student(workers, code) for code in codes)
    try:
        for seed in seeds:
            results = []
            for name, case in stage_tests(stage, hidden=True).items():
                case.student, case.reference, case.seed = student, reference, seed
                results.append(run_test(name, case, stage)[0])
                assert results[-1].status != "fault", results[-1]
            yield results
    finally:
        student.close()
        reference.close()


def changed(module: str, old: str, new: str) -> dict[str, str]:
    """The solution with a text replaced."""
    assert SOURCES[module].count(old) == 1
    return {**SOURCES, module: SOURCES[module].replace(old, new)}


@pytest.mark.parametrize("bug", some(BUGS, every=2), ids=lambda bug: f"{bug.stage}: {bug.what}")
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 20), marks=pytest.mark.slow)], ids=["few", "many"])
def test_a_bug_that_one_call_does_not_show_is_seen_with_every_seed(workers, bug: Bug, seeds):
    for results in hidden_results(workers, changed(bug.module, bug.old, bug.new), bug.stage, seeds):
        said = ["\n".join((test.message, *test.details)) for test in results if test.status != "passed"]
        assert said
        assert any(bug.says in text for text in said), said


# Values that change from call to call


@pytest.mark.parametrize(
    ("stage", "module", "old", "new", "why"),
    [
        ("encoder", "encoder", DROPOUT, "nn.functional.dropout(attended, 0.1)", "dropout is left on"),
        ("mha", "mha", WEIGHTS, "torch.dropout(torch.softmax(scores, dim=-1), 0.1, True)", "dropout is left on"),
        ("decoder", "decoder", DROPOUT, "nn.Dropout(0.1)(attended)", "dropout is left on"),
        (
            "encoder",
            "encoder",
            ENCODER_MASK,
            ENCODER_MASK
            + "\n        self.gain = getattr(self, 'gain', 1) + 1\n        attended = attended * self.gain",
            "the result depends on earlier calls",
        ),
    ],
)
def test_values_that_change_from_call_to_call_are_said_to(workers, stage, module, old, new, why):
    sources = {**SOURCES, module: SOURCES[module].replace(old, new, 1)}
    report = grade(Submission("changing", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)])
    told = [test for test in report.tests if test.status != "passed"]
    assert told
    for test in told:
        assert why in " ".join((test.message, *test.details))
        assert test.mistake == ""


def test_dropout_in_training_mode_is_not_said_to_be_left_on(workers):
    """There it may draw numbers: a wrong value is a wrong value."""
    sources = changed(
        "encoder", "self.dropout(attended)", "attended + nn.functional.dropout(attended, 0.5, self.training)"
    )
    results = next(hidden_results(workers, sources, "encoder", [1]))
    assert all("same inputs" not in test.message for test in results)


def test_a_wrong_gradient_is_not_said_to_depend_on_earlier_calls(workers):
    """The call is repeated on a new object: its own weights have the gradient then."""
    half = ENCODER_MASK + "\n        attended = (attended + attended.detach()) / 2"
    results = next(hidden_results(workers, changed("encoder", ENCODER_MASK, half), "encoder", [1]))
    told = [test for test in results if test.status != "passed"]
    assert any("gradient" in test.message for test in told), told
    assert all("earlier calls" not in test.message for test in told), told


# The seed


def test_the_seed_of_the_class_does_not_reach_the_worker(workers, monkeypatch):
    sent = []
    monkeypatch.setattr(Student, "seed", lambda self, number: sent.append(number))
    for seed in (5, 6):
        next(hidden_results(workers, SOURCES, "decoder", [seed]))
    assert len(set(sent)) == 2  # the same in one test, another for another seed
    assert not {5, 6} & set(sent)
    assert all(number > 2**32 for number in sent)
    assert StageTestCase.seed == 0
