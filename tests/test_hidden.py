"""The hidden tests: correct code passes with every seed, and bugs that the visible tests miss do not."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.grading import grade
from autograder.manifest import assignment
from autograder.process import make_workers
from autograder.results import TestResult
from autograder.running import run_test, stage_tests
from autograder.student import Student
from autograder.submission import Submission, code_of_stage, read_submission

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = assignment()
STAGES = [stage.name for stage in ASSIGNMENT.stages]
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
STUBS = read_submission(ROOT / "notebooks" / "transformer", ASSIGNMENT)


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


def hidden_only(workers, sources: dict[str, str], seed: int, stages: list[str] = STAGES) -> list[TestResult]:
    """The results of the hidden tests alone, whether or not the visible tests pass."""
    results = []
    for stage in map(ASSIGNMENT.stage, stages):
        codes = [code_of_stage(Submission("", code), stage, ASSIGNMENT, {}) for code in (sources, SOURCES)]
        student, reference = (Student(workers, code) for code in codes)
        for name, case in stage_tests(stage, "autograder.hidden").items():
            case.student, case.reference, case.seed = student, reference, seed
            results.append(run_test(name, case, stage)[0])
        student.close()
        reference.close()
    return results


def lost(results) -> list[TestResult]:
    return [result for result in results if result.status != "passed"]


# Correct code


@pytest.mark.parametrize("seed", range(5))
def test_the_solution_passes(workers, seed):
    assert lost(hidden_only(workers, SOURCES, seed)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 25))
def test_the_solution_passes_with_many_seeds(workers, seed):
    assert lost(hidden_only(workers, SOURCES, seed)) == []


@pytest.mark.parametrize("seed", [3, 2**40])
@pytest.mark.parametrize("name", ["einsum", "loops"])
def test_independent_implementations_pass(workers, name, seed):
    variant = read_submission(ROOT / "tests" / "variants" / name, ASSIGNMENT)
    assert lost(hidden_only(workers, variant.sources, seed)) == []


def test_stubs_are_not_started(workers):
    report = grade(STUBS, ASSIGNMENT, workers, hidden_seed=1)
    assert report.points == 0
    assert {(test.status, test.hidden) for test in report.tests} == {("not started", False)}


def changed(module: str, *changes: tuple[str, str]) -> dict[str, str]:
    """The solution with some texts replaced."""
    text = SOURCES[module]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return {**SOURCES, module: text}


def test_the_function_of_dropout_is_as_good_as_the_module(workers):
    function = ("self.dropout(", "nn.functional.dropout(p=self.dropout.p, training=self.training, input=")
    assert lost(hidden_only(workers, changed("encoder", function), 1, ["encoder"])) == []


def test_code_that_computes_in_float32_passes(workers):
    sources = changed("mha", ("torch.softmax(scores,", "torch.softmax(scores.float(),"))
    report = grade(Submission("float32", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")], hidden_seed=1)
    assert report.points == 30


# Seeds


def test_inputs_come_from_the_seed_alone(workers):
    """The student's code prints what it gets."""
    places = {
        "mha": ("        scores = query @", "query.shape, query.sum().item()"),
        "pe": ("        T = x.size(1)", "x.shape, x.sum().item()"),
        "encoder": ("        attended = self.self_attn(", "x.shape, x.sum().item()"),
        "decoder": ("        attended = self.self_attn(x, x, x,", "x.shape, x.sum().item()"),
        "transformer": ("        decoded_list: ", "src.tolist()"),
    }
    sources = dict(SOURCES)
    for module, (line, shown) in places.items():
        assert line in sources[module]
        sources[module] = sources[module].replace(line, f"        print({shown})\n{line}")
    first, again, other = ([test.printed for test in hidden_only(workers, sources, seed)] for seed in (7, 7, 8))
    assert all(first)
    assert first == again
    assert not any(one == another for one, another in zip(first, other, strict=True))


# Bugs that the visible tests miss


@dataclass(frozen=True)
class Bug:
    """A change of the solution."""

    what: str
    stage: str
    module: str
    old: str
    new: str
    tests: str  # parts of the names of the tests that see it
    message: str  # part of what they say


ATTENTION = "no_mask key_padding_mask key_padding_mask_attention_mask different_query_and_key"
KEY_MASKS = "key_padding_mask key_padding_mask_attention_mask different_query_and_key"
SOFTMAX = "torch.softmax(scores, dim=-1)"
FILL = "torch.finfo(scores.dtype).min"
KEY_MASK = "key_padding_mask[:, None, None, :] != 0"
OUTPUTS, CACHE = "outputs_extra_credit", "cache_extra_credit"

BUGS = [
    Bug("d_k of the visible test", "mha", "mha", "math.sqrt(self.d_k)", "math.sqrt(15)", ATTENTION, "wrong values"),
    Bug("negative marks", "mha", "mha", KEY_MASK, KEY_MASK.replace("!=", ">"), KEY_MASKS, "wrong values"),
    Bug("no booleans", "mha", "mha", KEY_MASK, "-" + KEY_MASK, "key_padding_mask different_query_and_key", "negative"),
    Bug("fill with -20", "mha", "mha", FILL, "-20.0", KEY_MASKS, "forbidden keys have weight"),
    Bug("fill with -inf", "mha", "mha", FILL, "-torch.inf", "key_padding_mask_attention_mask", "holds NaN"),
    Bug("detached", "mha", "mha", SOFTMAX, SOFTMAX + ".detach()", ATTENTION, "no gradient reaches query"),
    Bug("no W_o", "mha", "mha", "return self.W_o(x)", "return x", ATTENTION, "wrong values"),
    Bug("mask changed", "mha", "mha", KEY_MASK, f"key_padding_mask.abs_(){KEY_MASK[16:]}", KEY_MASKS, "mask"),
    Bug("d_model of the visible test", "pe", "pe", "/ d_model)", "/ 32)", "pe", "wrong values"),
    Bug("table one row short", "pe", "pe", "T > self.max_seq_length", "T >= self.max_seq_length", "pe", "ValueError"),
    Bug(
        "table trained",
        "pe",
        "pe",
        'self.register_buffer("pe", pe.unsqueeze(0))',
        "self.pe = nn.Parameter(pe[None])",
        "pe",
        "trained",
    ),
    Bug("input changed", "pe", "pe", "x + self.pe[:, :T]", "x.add_(self.pe[:, :T])", "pe", "changes its argument x"),
    Bug("dropout left out", "encoder", "encoder", "x + self.dropout(attended)", "x + attended", "encoder", "dropout"),
    Bug(
        "dropout never active",
        "encoder",
        "encoder",
        "self.dropout(attended)",
        "nn.functional.dropout(attended, 0.1, False)",
        "encoder",
        "in training mode",
    ),
    Bug(
        "dropout inside",
        "encoder",
        "encoder",
        "self.activation_fn(self.fc1(x))",
        "self.dropout(self.activation_fn(self.fc1(x)))",
        "encoder",
        "factor of 1.25",
    ),
    Bug(
        "mask is 1",
        "encoder",
        "encoder",
        "=self_attn_padding_mask)",
        "=None if self_attn_padding_mask is None else self_attn_padding_mask == 1)",
        "encoder",
        "wrong values",
    ),
    Bug(
        "mask from tokens",
        "encoder",
        "transformer",
        "length_to_padding_mask(src_lengths, device=src.device)",
        "(src == 1).long()",
        "encoder",
        "wrong values",
    ),
    Bug(
        "size of the checkpoint",
        "encoder",
        "encoder",
        "hidden = self.activation_fn(self.fc1(x))",
        "hidden = self.activation_fn(self.fc1(x.view(-1, x.size(1), 192)))",
        "encoder",
        "invalid for input of size",
    ),
    Bug(
        "own padding mask dropped",
        "decoder",
        "decoder",
        "(x, x, x, self_attn_padding_mask, self_attn_mask)",
        "(x, x, x, None, self_attn_mask)",
        "states",
        "a padding mask and no causal mask",
    ),
    Bug(
        "no causal mask in training",
        "decoder",
        "decoder",
        "self_attn_padding_mask, self_attn_mask)\n        x =",
        "self_attn_padding_mask, None if self.training else self_attn_mask)\n        x =",
        "predictions states",
        "in training mode",
    ),
    Bug(
        "no mask for the source in training",
        "decoder",
        "transformer",
        "encoder_padding_mask=src_padding_mask,\n",
        "encoder_padding_mask=src_padding_mask if not self.training else None,\n",
        "",
        "",
    ),
    Bug(
        "source detached",
        "decoder",
        "transformer",
        "encoder_out=enc_output,\n",
        "encoder_out=enc_output.detach(),\n",
        "states",
        "no gradient reaches enc_output",
    ),
    Bug(
        "eos at the first step",
        "inference",
        "transformer",
        "if next_token.item() == self.eos_idx:",
        "if next_token.item() == self.eos_idx and tgt.size(1) > 2:",
        OUTPUTS,
        "goes on after eos",
    ),
    Bug(
        "eos of the checkpoint",
        "inference",
        "transformer",
        "next_token.item() == self.eos_idx",
        "next_token.item() == 3",
        f"{OUTPUTS} {CACHE}",
        "eos",
    ),
    Bug(
        "sos of the checkpoint",
        "inference",
        "transformer",
        "(1, 1), self.sos_idx,",
        "(1, 1), 2,",
        f"{OUTPUTS} {CACHE}",
        "",
    ),
    Bug(
        "padding mask cut",
        "inference",
        "decoder",
        "(last, x, x, self_attn_padding_mask, last_mask)",
        "(last, x, x, None if self_attn_padding_mask is None else self_attn_padding_mask[:, -1:], last_mask)",
        CACHE,
        "step by step",
    ),
    Bug(
        "cache changed",
        "inference",
        "decoder",
        "            new_cache.append(x)\n",
        "            new_cache.append(x)\n            if cache:\n                cache[index] = x\n",
        CACHE,
        "changes its argument cache",
    ),
    Bug(
        "cache not used",
        "inference",
        "decoder",
        "cache=None if cache is None else cache[index],",
        "cache=None,",
        CACHE,
        "wrong values",
    ),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.stage}: {bug.what}")
def test_a_bug_that_the_visible_tests_miss_is_seen(workers, bug: Bug):
    sources = changed(bug.module, (bug.old, bug.new))
    stage = ASSIGNMENT.stage(bug.stage)
    tests = lost(grade(Submission(bug.what, sources), ASSIGNMENT, workers, [stage], hidden_seed=1).tests)
    assert all(test.hidden for test in tests), tests
    print([(t.name, t.status, t.message, t.details[:2]) for t in tests])
    assert False
