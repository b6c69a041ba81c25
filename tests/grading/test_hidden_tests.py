"""The hidden tests: correct code passes with every seed, and bugs that the visible tests miss do not."""

import re
from dataclasses import replace
from typing import Any

import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.diagnosis.mistakes import all_mistakes
from autograder.grading.grade_submission import grade
from autograder.grading.reference_answers import AnswerBook
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.hidden_grading import ASSIGNMENT, ROOT, SOURCES, changed, hidden_only, lost
from tests.support.quick import some
from tests.support.worth import FULL

pytestmark = pytest.mark.usefixtures("without_trials")

ENCODER = ASSIGNMENT.stage("encoder")
STUBS = read_submission(ROOT / "notebooks" / "transformer", ASSIGNMENT)


# Correct code


def test_stubs_are_not_started(workers):
    report = grade(STUBS, ASSIGNMENT, workers, map(ASSIGNMENT.stage, ("pe", "inference")), hidden_seed=1)
    assert report.points == 0
    assert {(test.status, test.hidden) for test in report.tests} == {("not started", False)}


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


@pytest.mark.parametrize("how", some(DROPOUTS, every=3))
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
    ALIVE + "x * (torch.rand_like(x) > P)": "dropout does not divide the elements it keeps by 1 - p",
    "nn.functional.dropout1d(x, P, self.training)": "dropout is in the wrong place",
    "nn.functional.alpha_dropout(x, P, self.training)": "dropout is in the wrong place",
    "nn.functional.dropout(x, 0.5, self.training)": "dropout is in the wrong place",
}


@pytest.mark.parametrize("text", WRONG_DROPOUTS)
def test_a_wrong_dropout_is_told(workers, text):
    """It costs the part that is about dropout, and is told by the visible test already."""
    drop = (
        f"\n    def drop(self, x):\n        return {text}\n\n    def forward(self, x: torch.Tensor, self_attn_padding"
    )
    sources = changed(
        "encoder",
        ("self.dropout(attended)", "self.drop(attended)"),
        ("self.dropout(self.fc2(hidden))", "self.drop(self.fc2(hidden))"),
        ("\n    def forward(self, x: torch.Tensor, self_attn_padding", re.sub(r"\bP\b", P, drop)),
    )
    (visible,) = grade(Submission(text, sources), ASSIGNMENT, workers, [ENCODER]).tests
    assert (visible.status, visible.message) == ("failed", WRONG_DROPOUTS[text])
    assert visible.points == visible.max_points - ENCODER.parts[visible.name]["dropout"]
    (hidden,) = hidden_only(workers, sources, 1, ["encoder"])
    assert (hidden.status, hidden.message) == ("failed", WRONG_DROPOUTS[text]), hidden.details
    wrong = [part.name for part in hidden.parts if part.status != "passed"]
    # A probability of its own would show in a model that is built with 0, too, but there the layer is a stand-in.
    assert wrong == ["dropout"]


# What only hidden tests judge

WARNED: dict[str, tuple[Any, ...]] = {
    "not a number": ("mha", ("return self.W_o(x)", "return self.W_o(x) * float('nan')"), "the output: contains NaN"),
    "in place": ("encoder", ("x + self.dropout(attended)", "x.add_(self.dropout(attended))"), "modifies x"),
    "residual lost": ("decoder", ("x, encoder_out, encoder_out,", "x, encoder_out.detach(), encoder_out.detach(),"),
                      "no gradient reaches encoder_out"),
    "list of caches": ("decoder", ("new_cache = []", "new_cache = cache if cache is not None else []"),
                       ("new_cache.append(x)", "new_cache[index:] = [x, *new_cache[index + 1:]]"),
                       "the call modifies cache, one of its arguments"),
    "scores lost": ("mha", ("softmax(scores,", "softmax(scores.detach(),"), "no gradient reaches query"),
}  # fmt: skip


@pytest.mark.parametrize("what", WARNED)
def test_visible_tests_warn_of_what_only_hidden_tests_judge(workers, what):
    module, *changes, words = WARNED[what]
    if what == "residual lost":  # the one-step method has the same line
        sources = {**SOURCES, module: SOURCES[module].replace(*changes[0])}
    else:
        sources = changed(module, *changes)
    stage = "inference" if what == "list of caches" else module
    report = grade(Submission(what, sources), ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)])
    assert report.points == report.max_points
    told, *_ = [test for test in report.tests if test.message]
    assert told.message.startswith("passes, but: ")
    assert words in told.message
    assert "hidden tests may" in told.details[-1]
    assert told.details[0].startswith("called    ")
    assert lost(hidden_only(workers, sources, 1, [stage]))


def test_a_renamed_argument_costs_the_layer_and_leaves_the_model(workers):
    sources = changed(
        "encoder",
        ("self_attn_padding_mask: torch", "mask: torch"),
        ("=self_attn_padding_mask)", "=mask)"),
        ("self_attn_padding_mask=encoder", "mask=encoder"),
    )
    (test,) = grade(Submission("", sources), ASSIGNMENT, workers, [ENCODER], hidden_seed=1).tests
    assert "unexpected keyword argument 'self_attn_padding_mask'" in test.message
    assert [part.status for part in test.parts] == ["error", "error", "error", "passed"]


SLIPS = {
    "x and its gradient": (
        "return x + self.pe[:, :T]",
        "x += self.pe[:, :T]\n        return x",
        "modifies x, one of its arguments",
    ),
    "a buffer": ('self.register_buffer("pe", pe.unsqueeze(0))', "self.pe = nn.Parameter(pe[None])", "is trained"),
    "a buffer ": ("pe.unsqueeze(0))", "pe.unsqueeze(0), persistent=False)", "not saved with the model"),
}


@pytest.mark.parametrize("part", SLIPS)
def test_a_slip_of_positions_costs_a_part(workers, part):
    old, new, words = SLIPS[part]
    sources = changed("pe", (old, new))
    (test,) = grade(Submission(part, sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("pe")]).tests
    (hidden,) = hidden_only(workers, sources, 1, ["pe"])
    for result in (test, hidden):
        assert [wrong.name for wrong in result.parts if wrong.status != "passed"] == [part.strip()]
        assert words in result.message


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


KNOWN_MISTAKES = {
    mistake.id: mistake
    for mistake in [
        *all_mistakes("transformer")[::30],
        *(mistake for mistake in all_mistakes("transformer") if mistake.stage == "inference"),
    ][:10]
}
HIDDEN_ONLY = "the size of the visible test"


@pytest.mark.parametrize("name", some([HIDDEN_ONLY, "solution", "einsum", "stubs", *KNOWN_MISTAKES], every=99))
def test_known_answers_give_the_same_report(workers, book, name):
    stages = None
    if name == HIDDEN_ONLY:
        stages = [ASSIGNMENT.stage("pe")]
        submission = Submission(name, changed("pe", ("/ d_model)", "/ 32)")))
    elif name in KNOWN_MISTAKES:
        stages = [ASSIGNMENT.stage(KNOWN_MISTAKES[name].stage)]
        submission = Submission(name, KNOWN_MISTAKES[name].apply(SOURCES))
    else:
        folders = {"solution": ASSIGNMENT.solution, "stubs": ROOT / "notebooks" / "transformer"}
        correct = correct_submissions(ASSIGNMENT)
        submission = correct[name][0] if name in correct else read_submission(folders[name], ASSIGNMENT)
    reports = [grade(submission, ASSIGNMENT, workers, stages, hidden_seed=3, book=known) for known in (None, book)]
    asked, known = ([replace(test, seconds=0) for test in report.tests] for report in reports)
    assert asked == known
    assert name != HIDDEN_ONLY or [test.hidden for test in reports[0].tests] == [True]


def test_known_answers_spare_the_reference(workers, book, monkeypatch):
    stage = ASSIGNMENT.stage("pe")
    grade(Submission("first", SOURCES), ASSIGNMENT, workers, [stage], hidden_seed=3, book=book)
    start, started = workers.start, []

    def counted():
        started.append(start())
        return started[-1]

    monkeypatch.setattr(workers, "start", counted)
    report = grade(Submission("second", SOURCES), ASSIGNMENT, workers, [stage], hidden_seed=3, book=book)
    assert report.points == FULL["pe"]
    assert len(started) == 2  # one reads the source text, one runs the tests
