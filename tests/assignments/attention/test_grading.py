"""Grading `attention`: full marks for what is right, none for stubs, and a slip costs once."""

from types import SimpleNamespace

import numpy as np
import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.diagnosis.compare_tensors import Incorrect
from autograder.diagnosis.mistakes import all_mistakes
from autograder.grading.grade_submission import grade
from autograder.grading.graded_case import StageTestCase
from autograder.grading.run_test import run_test, stage_tests
from autograder.sandbox.remote_modules import Student
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage
from course.location import ENGINE as ROOT
from tests.assignments.attention.loading import ASSIGNMENT

pytestmark = pytest.mark.usefixtures("without_trials")

SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
MISTAKES = {mistake.id: mistake for mistake in all_mistakes(ASSIGNMENT.name)}
FULL = {stage.name: stage.max_points for stage in ASSIGNMENT.stages}


def graded(workers, sources, stages=None, seed=None):
    chosen = None if stages is None else [ASSIGNMENT.stage(stage) for stage in stages]
    return grade(Submission("", sources), ASSIGNMENT, workers, chosen, hidden_seed=seed)


def lost(report):
    """The tests that cost points, with these points."""
    return {test.name: test.max_points - test.points for test in report.tests if test.points < test.max_points}


def test_the_solution_gets_all_points_and_stubs_none(workers):
    assert sum(FULL.values()) == 110
    report = graded(workers, SOURCES, seed=1)
    assert (lost(report), report.points) == ({}, 110)
    stubs = read_submission(ROOT / "notebooks" / "attention", ASSIGNMENT).sources
    report = graded(workers, stubs, seed=1)
    assert report.points == 0
    assert {test.status for test in report.tests} == {"not started"}


@pytest.mark.slow
@pytest.mark.parametrize("name", correct_submissions(ASSIGNMENT))
def test_correct_code_gets_all_points(workers, name):
    submission, modules = correct_submissions(ASSIGNMENT)[name]
    stages = [stage.name for stage in ASSIGNMENT.stages if modules & set(stage.modules)]
    assert lost(graded(workers, submission.sources, stages, seed=3)) == {}


WAITS = {
    "not finished.all():": "not (token == self.eos_idx).all():",
    "token = logits.argmax(dim=-1).masked_fill(finished, self.pad_idx)": "token = logits.argmax(dim=-1)",
    "return torch.stack(tokens, dim=1)  #": "made = torch.stack(tokens, dim=1)\n        "
    "ends = (made == self.eos_idx).cumsum(dim=1)\n        "
    "behind = torch.nn.functional.pad(ends, (1, -1)) > 0\n        "
    "return made.masked_fill(behind, self.pad_idx)  #",
}


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("pooling.gradient-not-finite", "the gradient of the width is not finite"),
        ("pooling.regression-without-gradient", "no gradient reaches log_width"),
    ],
)
def test_visible_tests_warn_of_gradients_that_only_hidden_tests_judge(workers, mistake, words):
    sources = MISTAKES[mistake].apply(SOURCES)
    report = graded(workers, sources, ["pooling"])
    assert report.points == report.max_points
    (told,) = [test.message for test in report.tests if test.message]
    assert told.startswith("passes, but: ")
    assert words in told
    assert lost(graded(workers, sources, ["pooling"], seed=1))


def test_a_loss_without_a_gradient_is_warned(workers):
    """The width is learned from the predictions of `leave_one_out`."""
    before, name, behind = SOURCES["pooling"].partition("def leave_one_out")
    assert behind.count("self.log_width.exp()") == 1
    text = before + name + behind.replace("self.log_width.exp()", "self.log_width.exp().item()")
    report = graded(workers, {**SOURCES, "pooling": text}, ["pooling"])
    assert report.points == report.max_points
    (test,) = [test for test in report.tests if test.message]
    assert test.name == "test_leave_one_out"
    assert "no gradient reaches log_width" in test.message
    assert lost(graded(workers, {**SOURCES, "pooling": text}, ["pooling"], seed=1))


def test_a_translation_that_waits_for_an_end_of_all_at_once_is_warned(workers):
    """The trained model writes eos again and again, so that all sentences end together at last; others do not."""
    text = SOURCES["seq2seq"]
    for old, new in WAITS.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    report = graded(workers, {**SOURCES, "seq2seq": text}, ["translate"])
    assert report.points == report.max_points
    (told,) = [test.message for test in report.tests if test.message]
    assert told == "passes, but: the tokens of 2 sentences, one of which ends earlier: wrong shape"


@pytest.mark.parametrize("stage", ["pooling", "translate"])
@pytest.mark.parametrize("name", correct_submissions(ASSIGNMENT))
def test_correct_code_is_not_warned(workers, name, stage):
    report = graded(workers, correct_submissions(ASSIGNMENT)[name][0].sources, [stage])
    assert [test.message for test in report.tests if test.message] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_hidden_tests_pass_the_solution_with_every_seed(workers, seed):
    assert lost(graded(workers, SOURCES, seed=seed)) == {}


@pytest.mark.parametrize(
    ("mistake", "test", "points"),
    [
        ("pooling.boxcar-open", "test_kernels", 1),
        ("pooling.width-missing", "test_attention_pooling", 10),
        ("pooling.unreached-nan", "test_attention_pooling", 3),
        ("pooling.weights-not-returned", "test_attention_pooling", 10),
        ("scoring.one-key-too-many", "test_masked_softmax", 6),
        ("scoring.none-not-handled", "test_masked_softmax", 2),
        ("scoring.scores-changed", "test_masked_softmax", 1),
        ("scoring.dot-scale-missing", "test_dot_product_attention", 5),
        ("scoring.dot-weights-not-kept", "test_dot_product_attention", 2),
        ("scoring.additive-lengths-not-passed-on", "test_additive_attention", 3),
        ("bahdanau.predicts-from-previous-state", "test_decoder_step", 6),
        ("bahdanau.context-alone-in-cell", "test_decoder_step", 15),
        ("bahdanau.state-not-carried-on", "test_teacher_forcing", 15),
        ("bahdanau.stacked-in-front", "test_teacher_forcing", 15),
        ("bahdanau.padding-kept", "test_seq2seq", 2),
    ],
)
def test_a_slip_costs_once(workers, mistake, test, points):
    sources = MISTAKES[mistake].apply(SOURCES)
    report = graded(workers, sources, [MISTAKES[mistake].stage], seed=1)
    assert lost(report) == {test: points}
    assert report.stages[0].tests[list(ASSIGNMENT.stage(MISTAKES[mistake].stage).points).index(test)].mistake == mistake


def test_unwritten_parts_of_a_stage_cost_their_own_points_only(workers):
    stubs = read_submission(ROOT / "notebooks" / "attention", ASSIGNMENT).sources
    begin = SOURCES["seq2seq"].index("        # Compute context")
    step = SOURCES["seq2seq"][begin : SOURCES["seq2seq"].index("        return logits, state, weights")]
    without = SOURCES["seq2seq"].replace(step, '        raise NotImplementedError("Stage 3: not yet")\n')
    assert lost(graded(workers, {**stubs, "seq2seq": without}, ["bahdanau"])) == {"test_decoder_step": 15}


@pytest.mark.parametrize("seed", [None, 1])
def test_weights_that_no_score_decides_earn_nothing(workers, seed):
    """Wrong scores leave the points of lengths and kept weights; no scores at all leave none."""
    uniform, by_place = "torch.zeros(len(queries), queries.size(1), keys.size(1))", "torch.arange(1.0 * keys.size(1))"
    scores = {
        "queries @ keys.transpose(1, 2) / math.sqrt(queries.size(-1))": uniform,
        "queries @ self.M @ keys.transpose(1, 2) / math.sqrt(keys.size(-1))": f"{uniform} + {by_place}",
        "self.w_v(features).squeeze(-1)": f"{uniform} - {by_place}",
    }
    text = SOURCES["scoring"]
    for score, none in scores.items():
        assert score in text
        text = text.replace(score, none)
    (stage,) = graded(workers, {**SOURCES, "scoring": text}, ["scoring"], seed).stages
    assert {test.name: test.points for test in stage.tests} == {
        "test_masked_softmax": 10,
        "test_dot_product_attention": 0,
        "test_bilinear_attention": 0,
        "test_additive_attention": 0,
    }


def test_what_takes_the_place_of_a_slip_cannot_be_copied(workers):
    """The stand-in that a test is run with again holds nothing that the test grades."""
    code = SOURCES["seq2seq"].replace("        steps = []\n", "        import standin_seq2seq\n        steps = []\n")
    broken = MISTAKES["bahdanau.cell-without-context"].apply({**SOURCES, "seq2seq": code})
    broken["seq2seq"] = broken["seq2seq"].replace(
        "for token in tgt.unbind(dim=1):",
        "return standin_seq2seq.AttentionDecoder.forward(self, tgt, state, enc_outputs, src_lengths)\n"
        "        for token in tgt.unbind(dim=1):",
    )
    stage = ASSIGNMENT.stage("bahdanau")
    student = Student(workers, code_of_stage(Submission("", broken), stage, ASSIGNMENT, {}))
    case = stage_tests(stage)["test_teacher_forcing"]
    case.student = student
    result, _ = run_test("test_teacher_forcing", case, stage)
    student.close()
    assert (result.points, result.status) == (0, "failed") or "forward" in result.message


def test_a_tuple_instead_of_scores_is_the_students_fault():
    case = type("Case", (StageTestCase,), {"test": lambda case: None})("test")
    case.student = SimpleNamespace(last_call="model()", changing=lambda equal: "")
    model = SimpleNamespace(taking=lambda *_: lambda **inputs: [np.zeros(2), np.zeros(2)])
    with pytest.raises(Incorrect, match="logits: wrong type"):
        case.part_of_scores(model, (2, 2), "logits", "B V")()
