"""Mistakes that nobody knows are not named; a mistake is a text that stands once. (The audit looks at known ones.)"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.diagnosis.mistake_signatures import Named, Signature, hints, name_mistakes, stored_file
from autograder.diagnosis.mistakes import Mistake, all_mistakes
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage
from course.errors import UserError
from tests.support.quick import some

pytestmark = pytest.mark.usefixtures("without_trials")

ASSIGNMENT = assignment("transformer")
SOLUTION = Path(__file__).resolve().parents[2] / "solutions" / "transformer"
SOURCES = read_submission(SOLUTION, ASSIGNMENT).sources
MISTAKES = all_mistakes("transformer")


@pytest.mark.parametrize(("old", "number"), [("no such text", 0), ("return", SOURCES["mha"].count("return"))])
def test_a_text_that_does_not_stand_exactly_once_is_refused(old, number):
    with pytest.raises(UserError, match=f"{MISTAKES[0].id} .* occurs {number} times in mha.py, not once: .*{old}"):
        replace(MISTAKES[0], module="mha", old=old).apply(SOURCES)


def test_nor_is_one_of_a_module_that_is_not_there():
    with pytest.raises(UserError, match=f"{MISTAKES[0].id} of gone.py: .* has no module"):
        replace(MISTAKES[0], module="gone").apply(SOURCES)


STAGES = {"transformer": "inference"}  # of modules that are no stage by themselves
WRONG = {
    "a power": ("mha", "math.sqrt(self.d_k)", "self.d_k ** 0.61"),
    "a factor": ("mha", "torch.softmax(scores, dim=-1) @ value", "torch.softmax(scores, dim=-1) @ value * 1.37"),
    "sine of sine": ("pe", "torch.sin(angle)", "torch.sin(torch.sin(angle))"),
    "a rolled table": ("pe", "return x + self.pe[:, :T]", "return x + self.pe[:, :T].roll(3, dims=-1)"),
    "a clamp": ("encoder", "self.activation_fn(self.fc1(x))", "self.fc1(x).clamp(-0.3, 0.8)"),
    "half the attention": ("encoder", "self.dropout(attended)", "0.5 * attended"),
    "a tanh": ("decoder", "x + self.dropout(self.fc2(hidden))", "x + self.fc2(hidden).tanh()"),
    "another token": ("transformer", "[tgt, next_token]", "[tgt, (next_token * 7) % 400 + 4]"),
}


@pytest.mark.parametrize("what", some(WRONG, every=2))
def test_other_wrong_code_is_not_named(workers, what):
    module, old, new = WRONG[what]
    wrong = SOURCES[module].replace(old, new)
    assert wrong != SOURCES[module]
    stage = ASSIGNMENT.stage(STAGES.get(module, module))
    report = grade(Submission(what, {**SOURCES, module: wrong}), ASSIGNMENT, workers, [stage])
    assert report.points < report.max_points
    assert {test.mistake for test in report.tests} == {""}


# Names that do not follow


def named(workers, stage: str, module: str, *changes: tuple[str, str], seed: int | None = None) -> dict[str, str]:
    """The first hints for the failed tests of a stage, by mistake, where the solution is changed."""
    sources = dict(SOURCES)
    for old, new in changes:
        assert sources[module].count(old) == 1
        sources[module] = sources[module].replace(old, new)
    report = grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)], hidden_seed=seed)
    assert any(test.status != "passed" for test in report.tests)
    return {test.mistake: test.hints[0] for test in report.tests if test.mistake}


ELSEWHERE = {
    "the new cache is a tensor": ("inference", "decoder", ("return y, new_cache", "return y, torch.cat(new_cache)")),
    "the last but one token is dropped too": (
        "decoder", "transformer", ("return dec_output", "return dec_output.transpose(1, 2)"),
    ),
    "the prediction loses an axis": ("inference", "transformer", ("[tgt, next_token]", "[tgt, next_token[0]]")),
    "the token is read from the whole sentence": (
        "inference", "transformer", ("next_token.item() ==", "tgt.item() =="),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ELSEWHERE)
def test_what_only_looks_like_a_mistake_is_not_named(workers, what):
    stage, module, *changes = ELSEWHERE[what]
    assert named(workers, stage, module, *changes) == {}


def test_what_only_a_message_points_to_is_said_to_be_so_perhaps(workers):
    """The second linear map used twice fails in the same words as the two in the wrong order."""
    hints = named(workers, "encoder", "encoder", ("self.fc1(x)", "self.fc2(x)"))
    assert all(hint.startswith("Possible cause: ") for hint in hints.values())
    hints = named(workers, "mha", "mha", ("math.sqrt(self.d_k)", "math.sqrt(self.d_model)"))
    assert hints["mha.scale-d-model"].startswith("Your result is that of")


@pytest.mark.parametrize("name", ["transformer", "attention", "variants"])
def test_a_hint_from_an_exception_speaks_of_no_result(name):
    stored = json.loads(stored_file(name).read_text(encoding="utf-8"))["signatures"]
    raising = {entry["mistake"] for entries in stored.values() for entry in entries if entry["place"]}
    assert raising
    for mistake in raising:
        assert not re.search("Your result|In every", hints(name, Named(mistake, False))[0])


def test_a_mistake_that_later_checks_refute_is_not_named(workers):
    """Without an attention mask both masks are lost, as if the padding mask was not used; without padding it raises."""
    masks = "(x, x, x, self_attn_padding_mask, self_attn_mask)"
    merged = "(x, x, x, attention_mask=(self_attn_mask != 0) | (self_attn_padding_mask != 0).unsqueeze(1))"
    assert named(workers, "decoder", "decoder", (masks, merged), seed=1) == {}


def test_a_hidden_mistake_is_still_named(workers):
    hints = named(workers, "decoder", "decoder", ("(x, x, x, self_attn_padding_mask, ", "(x, x, x, None, "), seed=1)
    assert list(hints) == ["decoder.padding-mask-ignored"]


def test_a_message_is_enough_if_the_rest_of_a_hidden_test_agrees(workers):
    """No number shows that a gradient is missing; but with the same gap in the reference the whole test passes."""
    hints = named(workers, "mha", "mha", ("torch.softmax(scores,", "torch.softmax(scores.data,"), seed=1)
    assert hints["mha.detached"].startswith("Your result is right")


def test_where_a_mistake_looks_different_is_said_with_its_name():
    """As many keys as queries in all tests but one: the numbers of the others fit to a mistake that is another."""
    shown, other = Signature(0, "x is wrong", (2,), (1.0, 2.0)), Signature(0, "x is wrong", (2,), (1.0, 3.0))
    known = {"first": [("mistake", shown)], "second": [("mistake", shown)], "third": [("another", shown)]}
    named = name_mistakes({"first": shown, "second": other, "third": other}, [], known, "float64")
    assert named == {"first": Named("mistake", True, ("second",))}
    said = hints("transformer", replace(named["first"], mistake="mha.scale-number-of-keys"))
    assert said[-1] == "This mistake explains this test. In second it usually looks different: check that, too."


def test_what_a_passed_test_would_show_is_not_named():
    shown = Signature(0, "x is wrong", (2,), (1.0, 2.0))
    known = {"first": [("mistake", shown)], "second": [("mistake", shown)]}
    assert name_mistakes({"first": shown}, [], known, "float64") == {"first": Named("mistake", True)}
    assert name_mistakes({"first": shown}, ["second"], known, "float64") == {}
    words = Signature(0, "ValueError: no", place="mha.py")
    known = {"first": [("mistake", words)], "second": [("mistake", words)]}
    assert name_mistakes({"first": words}, [], known, "float64") == {"first": Named("mistake", False)}

    both = {"first": words, "second": Signature(0, "ValueError: yes", place="mha.py")}
    assert name_mistakes(both, [], known, "float64") == {}


def test_of_two_mistakes_with_the_same_numbers_the_one_that_explains_more_tests_is_named():
    """As many queries as keys in one test; another test tells the two apart, and a third fails for its own reason."""
    alike, apart, own = (Signature(1, "values", (2,), (number,), "") for number in (0.1, 0.2, 0.3))
    known = {
        "alike": [("keys", alike), ("queries", alike)],
        "apart": [("keys", own), ("queries", apart)],
        "third": [],
    }
    named = name_mistakes({"alike": alike, "apart": apart, "third": own}, [], known, "float64")
    assert {test: one.mistake for test, one in named.items()} == {"alike": "queries", "apart": "queries"}


@pytest.mark.parametrize(
    "mistake", [mistake for mistake in MISTAKES if mistake.stage in ("mha", "pe")], ids=lambda mistake: mistake.id
)
def test_other_stages_do_not_even_load_a_mistake_in_attention_or_encoding(mistake: Mistake):
    """Not as long as they need nothing of the module that its stand-in lacks."""
    for stage in ASSIGNMENT.stages:
        if stage.name != mistake.stage:
            mistaken = code_of_stage(Submission("", mistake.apply(SOURCES)), stage, ASSIGNMENT, {})
            right = code_of_stage(Submission("", SOURCES), stage, ASSIGNMENT, {})
            assert replace(mistaken, lent={}) == replace(right, lent={})
