"""The hidden tests: correct code passes with every seed, and bugs that the visible tests miss do not."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from autograder.diagnosis.mistakes import all_mistakes
from autograder.grading.grade_submission import grade
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import TestResult
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import assignment
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage
from tests.worth import FULL

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = assignment("transformer")
STAGES = [stage.name for stage in ASSIGNMENT.stages]
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
ENCODER = ASSIGNMENT.stage("encoder")
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
        for name, case in stage_tests(stage, hidden=True).items():
            case.student, case.reference, case.seed = student, reference, seed
            results.append(run_test(name, case, stage)[0])
        student.close()
        reference.close()
    return results


def lost(results) -> list[TestResult]:
    return [result for result in results if result.status != "passed"]


# Correct code


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


P, ALIVE = "self.dropout.p", "x if not self.training else "
DROPOUTS = {
    "function": "nn.functional.dropout(x, P, self.training)",
    "by names": "nn.functional.dropout(p=P, training=self.training, input=x)",
    "imported": "dropout(x, P, self.training)",
    "of torch": "torch.dropout(x, P, self.training)",
    "of torch by names": "torch.dropout(x, p=P, train=self.training)",
    "in place": "nn.functional.dropout(x, P, self.training, inplace=True)",
    "of torch in place": "torch.dropout_(x, P, self.training)",
    "only in training": "nn.functional.dropout(x, P) if self.training else x",
    "another module": "nn.Dropout(P).train(self.training)(x)",
    "native": "torch.native_dropout(x, P, self.training)[0]",
    "bernoulli": ALIVE + "x * torch.bernoulli(torch.full_like(x, 1 - P)) / (1 - P)",
    "bernoulli of one probability": ALIVE + "x * torch.bernoulli(x, 1 - P) / (1 - P)",
    "bernoulli in place": ALIVE + "x * torch.empty_like(x).bernoulli_(1 - P) / (1 - P)",
    "distribution": ALIVE + "x * torch.distributions.Bernoulli(1 - P).sample(x.shape) / (1 - P)",
    "rand": ALIVE + "torch.where(torch.rand(x.shape) < P, 0.0, x / (1 - P))",
    "rand of a size": ALIVE + "x * (torch.rand(*x.size(), device=x.device) > P) / (1 - P)",
    "rand like": ALIVE + "x.masked_fill(torch.rand_like(x) < P, 0) / (1 - P)",
    "single precision": ALIVE + "x * (torch.rand(x.shape, dtype=torch.float32) >= P) / (1 - P)",
    "uniform": ALIVE + "x * torch.empty_like(x).uniform_(0, 1).gt(P) / (1 - P)",
    "uniform by names": ALIVE + "x * torch.empty_like(x).uniform_(to=2.0).gt(2 * P) / (1 - P)",
    "NumPy": ALIVE + "x * torch.from_numpy(np.random.binomial(1, 1 - P, x.shape)) / (1 - P)",
    "generator of NumPy": ALIVE + "x * torch.tensor(np.random.default_rng().random(tuple(x.shape)) > P) / (1 - P)",
    # These draws stay random.
    "choice of NumPy": ALIVE + "x * torch.from_numpy(np.random.choice(2, x.shape, p=[P, 1 - P])) / (1 - P)",
    "Python": ALIVE + "x * torch.tensor([random.random() > P for _ in range(x.numel())]).view_as(x) / (1 - P)",
}


@pytest.mark.parametrize("how", DROPOUTS)
def test_every_dropout_is_found(workers, how):
    text = re.sub(r"\bP\b", P, DROPOUTS[how])
    drop = (
        f"\n    def drop(self, x):\n        return {text}\n\n    def forward(self, x: torch.Tensor, self_attn_padding"
    )
    changes = [
        (
            "import torch\n",
            "import random\n\nimport numpy as np\nimport torch\nfrom torch.nn.functional import dropout\n",
        ),
        ("self.dropout(attended)", "self.drop(attended)"),
        ("self.dropout(self.fc2(hidden))", "self.drop(self.fc2(hidden))"),
        ("\n    def forward(self, x: torch.Tensor, self_attn_padding", drop),
    ]
    report = grade(Submission(how, changed("encoder", *changes)), ASSIGNMENT, workers, [ENCODER], hidden_seed=1)
    assert [(test.status, test.message) for test in report.tests] == [("passed", "")]


WRONG_DROPOUTS = {
    "x": "in training mode there is no dropout in the layer",
    "nn.functional.dropout(x, P, False)": "in training mode there is no dropout in the layer",
    ALIVE + "x * (torch.rand_like(x) > P)": "dropout does not divide what it keeps by 1 - p",
    "nn.functional.dropout1d(x, P, self.training)": "dropout does not stand where it should",
    "nn.functional.alpha_dropout(x, P, self.training)": "dropout does not stand where it should",
    "nn.functional.dropout(x, 0.5, self.training)": "dropout does not stand where it should",
}


@pytest.mark.parametrize("text", WRONG_DROPOUTS)
def test_a_wrong_dropout_is_told(workers, text):
    """The visible test warns of it, the hidden one sees it."""
    drop = (
        f"\n    def drop(self, x):\n        return {text}\n\n    def forward(self, x: torch.Tensor, self_attn_padding"
    )
    sources = changed(
        "encoder",
        ("self.dropout(attended)", "self.drop(attended)"),
        ("self.dropout(self.fc2(hidden))", "self.drop(self.fc2(hidden))"),
        ("\n    def forward(self, x: torch.Tensor, self_attn_padding", re.sub(r"\bP\b", P, drop)),
    )
    visible, hidden = (
        grade(Submission(text, sources), ASSIGNMENT, workers, [ENCODER], hidden_seed=seed).tests[0]
        for seed in (None, 1)
    )
    assert (visible.status, visible.message) == ("passed", f"passes, but: {WRONG_DROPOUTS[text]}")
    assert (hidden.status, hidden.hidden, hidden.message) == ("failed", True, WRONG_DROPOUTS[text])


# What only hidden tests judge

WARNED: dict[str, tuple[Any, ...]] = {
    "argument renamed": (
        "encoder", ("self_attn_padding_mask: torch", "mask: torch"), ("=self_attn_padding_mask)", "=mask)"),
        ("self_attn_padding_mask=encoder", "mask=encoder"), "unexpected keyword argument 'self_attn_padding_mask'",
    ),
    "in place": ("encoder", ("x + self.dropout(attended)", "x.add_(self.dropout(attended))"), "changes its argument x"),
    "residual lost": ("decoder", ("x, encoder_out, encoder_out,", "x, encoder_out.detach(), encoder_out.detach(),"),
                      "no gradient reaches encoder_out"),
    "scores lost": ("mha", ("softmax(scores,", "softmax(scores.detach(),"), "no gradient reaches query"),
    "positions in place": ("pe", ("return x + self.pe[:, :T]", "x += self.pe[:, :T]\n        return x"), "argument x"),
    "positions learned": ("pe", ('self.register_buffer("pe", pe.unsqueeze(0))', "self.pe = nn.Parameter(pe[None])"),
                          "the table is trained"),
}  # fmt: skip


@pytest.mark.parametrize("what", WARNED)
def test_visible_tests_warn_of_what_only_hidden_tests_judge(workers, what):
    module, *changes, words = WARNED[what]
    if what == "residual lost":  # the one-step method has the same line
        sources = {**SOURCES, module: SOURCES[module].replace(*changes[0])}
    else:
        sources = changed(module, *changes)
    stages = [ASSIGNMENT.stage(module)]
    report = grade(Submission(what, sources), ASSIGNMENT, workers, stages)
    assert report.points == report.max_points
    (told,) = [test for test in report.tests if test.message]
    assert told.message.startswith("passes, but: ")
    assert words in told.message
    assert "hidden tests do" in told.details[-1]
    assert lost(hidden_only(workers, sources, 1, [module]))


def test_code_that_computes_in_float32_passes(workers):
    sources = changed("mha", ("torch.softmax(scores,", "torch.softmax(scores.float(),"))
    report = grade(Submission("float32", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")], hidden_seed=1)
    assert report.points == FULL["mha"]


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


# Answers of the reference that are known already


@pytest.fixture(scope="module")
def book(workers):
    return AnswerBook(ASSIGNMENT, workers, hidden_seed=3)


KNOWN_MISTAKES = [
    *all_mistakes("transformer")[::30],
    *(mistake for mistake in all_mistakes("transformer") if mistake.stage == "inference"),
][:10]


@pytest.mark.parametrize("name", ["solution", "einsum", "stubs", *(mistake.id for mistake in KNOWN_MISTAKES)])
def test_known_answers_give_the_same_report(workers, book, name):
    mistakes = {mistake.id: mistake for mistake in KNOWN_MISTAKES}
    stages = [ASSIGNMENT.stage(mistakes[name].stage)] if name in mistakes else None
    if name in mistakes:
        submission = Submission(name, mistakes[name].apply(SOURCES))
    else:
        folders = {"solution": ASSIGNMENT.solution, "einsum": ASSIGNMENT.folder / "formulations" / "einsum"}
        submission = read_submission(folders.get(name, ROOT / "notebooks" / "transformer"), ASSIGNMENT)
    reports = [grade(submission, ASSIGNMENT, workers, stages, hidden_seed=3, book=known) for known in (None, book)]
    asked, known = ([replace(test, seconds=0) for test in report.tests] for report in reports)
    assert asked == known


def test_known_answers_spare_the_reference(workers, book, monkeypatch):
    stage = ASSIGNMENT.stage("mha")
    grade(Submission("first", SOURCES), ASSIGNMENT, workers, [stage], hidden_seed=3, book=book)
    start, started = workers.start, []

    def counted():
        started.append(start())
        return started[-1]

    monkeypatch.setattr(workers, "start", counted)
    report = grade(Submission("second", SOURCES), ASSIGNMENT, workers, [stage], hidden_seed=3, book=book)
    assert report.points == FULL["mha"]
    assert len(started) == 2  # one reads the source text, one runs it


# Bugs that the visible tests miss


# Lines of the solution.
KEY_MASK = "key_padding_mask[:, None, None, :] != 0"
REGISTER = 'self.register_buffer("pe", pe.unsqueeze(0))'
DROPOUT = "self.dropout(attended)"
LENGTHS = "length_to_padding_mask(src_lengths, device=src.device)"
SELF_ATTENTION = "(x, x, x, self_attn_padding_mask, self_attn_mask)"
SOURCE_MASK, SOURCE = "encoder_padding_mask=src_padding_mask,\n        )", "encoder_out=enc_output,"
ONE_STEP = "(last, x, x, self_attn_padding_mask, last_mask)"
NEXT_CACHE, KEEP = "cache=None if cache is None else cache[index],", "new_cache.append(x)"
STOP = "next_token.item() == self.eos_idx"

IN_TRAINING = "None if self.training else "
CUT = "None if self_attn_padding_mask is None else self_attn_padding_mask[:, -1:]"


@dataclass(frozen=True)
class Bug:
    """A change of the solution."""

    what: str
    stage: str
    module: str
    old: str
    new: str
    seen: int  # number of tests that see it
    message: str  # part of what the first of them says


BUGS = [
    Bug("size of the visible test", "mha", "mha", "math.sqrt(self.d_k)", "math.sqrt(15)", 4, "wrong values"),
    Bug(
        "some numbers only", "mha", "mha", KEY_MASK, f"({KEY_MASK.replace('!= 0', '> -3')}) & ({KEY_MASK})", 1, "wrong"
    ),
    Bug("mask changed", "mha", "mha", KEY_MASK, KEY_MASK.replace("[", ".ne_(0)[", 1), 1, "changes its argument"),
    Bug("fill with -35", "mha", "mha", "torch.finfo(scores.dtype).min", "-35.0", 3, "forbidden keys have weight"),
    Bug("W_o left out", "mha", "mha", "return self.W_o(x)", "return x", 4, "forward has the right shape but wrong"),
    Bug("size of the visible test", "pe", "pe", "/ d_model)", "/ 32)", 1, "wrong values"),
    Bug("one row short", "pe", "pe", "T > self.max_seq_length", "T >= self.max_seq_length", 1, "ValueError"),
    Bug("table trained", "pe", "pe", REGISTER, "self.pe = nn.Parameter(pe[None])", 1, "the table is trained"),
    Bug(
        "dropout left out",
        "encoder",
        "encoder",
        DROPOUT,
        "attended",
        1,
        "dropout is missing on the output of the self-attention",
    ),
    Bug(
        "dropout inside",
        "encoder",
        "encoder",
        "self.fc2(hidden)",
        "self.fc2(self.dropout(hidden))",
        1,
        "where it should",
    ),
    Bug("padding by token", "encoder", "transformer", LENGTHS, "(src == 1).long()", 1, "wrong values"),
    Bug(
        "size of the checkpoint", "encoder", "encoder", "self.fc1(x)", "self.fc1(x.view(-1, x.size(1), 192))", 1, "192"
    ),
    Bug(
        "own padding mask dropped", "decoder", "decoder", SELF_ATTENTION, "(x, x, x, None, self_attn_mask)", 1, "wrong"
    ),
    Bug(
        "no causal mask in training",
        "decoder",
        "decoder",
        SELF_ATTENTION,
        SELF_ATTENTION.replace("self_attn_mask", IN_TRAINING + "self_attn_mask"),
        2,
        "in training mode, a change of later tokens changes",
    ),
    Bug(
        "no source mask in training",
        "decoder",
        "transformer",
        SOURCE_MASK,
        SOURCE_MASK.replace("=", f"={IN_TRAINING}"),
        1,
        "in training mode",
    ),
    Bug("detached", "decoder", "transformer", SOURCE, "encoder_out=enc_output.detach(),", 1, "no gradient reaches"),
    Bug("eos at the start", "inference", "transformer", STOP, f"tgt.size(1) > 2 and {STOP}", 2, "goes on after eos"),
    Bug("eos of the checkpoint", "inference", "transformer", STOP, "next_token.item() == 3", 2, "goes on after eos"),
    Bug("sos of the checkpoint", "inference", "transformer", "self.sos_idx,", "2,", 2, "does not start with sos"),
    Bug("mask cut", "inference", "decoder", ONE_STEP, f"(last, x, x, {CUT}, last_mask)", 1, "step by step"),
    Bug("cache changed", "inference", "decoder", KEEP, f"{KEEP}; cache and cache.append(x)", 1, "argument cache"),
    Bug("cache not used", "inference", "decoder", NEXT_CACHE, "cache=None,", 1, "wrong values"),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.stage}: {bug.what}")
def test_a_bug_that_the_visible_tests_miss_is_seen(workers, bug: Bug):
    sources = changed(bug.module, (bug.old, bug.new))
    stage = ASSIGNMENT.stage(bug.stage)
    tests = lost(grade(Submission(bug.what, sources), ASSIGNMENT, workers, [stage], hidden_seed=1).tests)
    assert all(test.hidden for test in tests), tests
    assert len(tests) == bug.seen, tests
    assert bug.message in tests[0].message
    others = [stage.name for stage in ASSIGNMENT.stages if bug.module in stage.modules and stage.name != bug.stage]
    assert lost(hidden_only(workers, sources, 1, others)) == []
