"""Mistakes that nobody knows are not named; a mistake is a text that stands once. (The audit looks at known ones.)"""

from dataclasses import replace
from pathlib import Path

import pytest

from autograder.diagnosis.mistakes import Mistake, all_mistakes
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage

ASSIGNMENT = assignment("transformer")
SOLUTION = Path(__file__).resolve().parent.parent / "solutions" / "transformer"
SOURCES = read_submission(SOLUTION, ASSIGNMENT).sources
MISTAKES = all_mistakes("transformer")


@pytest.mark.parametrize(("old", "number"), [("no such text", 0), ("return", SOURCES["mha"].count("return"))])
def test_a_text_that_does_not_stand_exactly_once_is_refused(old, number):
    with pytest.raises(LookupError, match=f"stands {number} times in mha.py"):
        replace(MISTAKES[0], module="mha", old=old).apply(SOURCES)


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


WRONG = {
    "a factor": ("mha", "torch.softmax(scores, dim=-1) @ value", "torch.softmax(scores, dim=-1) @ value * 1.37"),
    "a power": ("mha", "math.sqrt(self.d_k)", "self.d_k ** 0.61"),
    "sine of sine": ("pe", "torch.sin(angle)", "torch.sin(torch.sin(angle))"),
    "a rolled table": ("pe", "return x + self.pe[:, :T]", "return x + self.pe[:, :T].roll(3, dims=-1)"),
    "a clamp": ("encoder", "self.activation_fn(self.fc1(x))", "self.fc1(x).clamp(-0.3, 0.8)"),
    "half the attention": ("encoder", "self.dropout(attended)", "0.5 * attended"),
    "a tanh": ("decoder", "x + self.dropout(self.fc2(hidden))", "x + self.fc2(hidden).tanh()"),
    "another token": ("transformer", "[tgt, next_token]", "[tgt, (next_token * 7) % 400 + 4]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_other_wrong_code_is_not_named(workers, what):
    module, old, new = WRONG[what]
    wrong = SOURCES[module].replace(old, new)
    assert wrong != SOURCES[module]
    report = grade(Submission(what, {**SOURCES, module: wrong}), ASSIGNMENT, workers)
    assert not report.complete or report.points < report.max_points
    assert {test.mistake for test in report.tests} == {""}


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
