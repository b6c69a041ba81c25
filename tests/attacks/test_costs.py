"""Attacks on the grader's own time, memory and words: answers that it has to look at before it can say anything."""

import time

import numpy as np
import pytest

from autograder.__main__ import main
from autograder.diagnosis.compare_tensors import compare
from autograder.grading.forbidden_parts import Checked
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.reports.student_feedback import feedback_html
from autograder.sandbox.confine import unsupported
from autograder.sandbox.submission_clock import Clock
from autograder.submissions.read_submission import Submission, read_submission
from tests.attacks.attack import RIGHT, TOOLS, pe
from tests.attacks.test_attacks import printed_report

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())
ASSIGNMENT = assignment("transformer")
SOLUTION = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
TABLE = "table = sinusoids(d_model, max_seq_length)"


@pytest.fixture
def workers(bare_confined):
    return bare_confined


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """No source check: these attacks take the worker for granted."""
    monkeypatch.setattr("autograder.grading.grade_submission.check_submission", lambda *_, **__: Checked())


def graded(workers, stage, changes, hidden_seed=None, clock=None):
    """The report about one stage, and how long it took."""
    submission = Submission("somebody", {**SOLUTION, **changes})
    report = grade(submission, ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)], hidden_seed=hidden_seed, clock=clock)
    assert not report.faulty, [test for test in report.tests if test.status == "fault"]
    return report


def answering_gradients(change: str) -> str:
    """An end of a module that changes what differentiating a call gives, before it is sent: [value, inputs, named]."""
    return (
        TOOLS
        + f"""
def pack(answer, PACK=channel("worker").pack):
    if isinstance(answer, list) and len(answer) == 3 and isinstance(answer[2], list) and answer[2]:
        value, inputs, named = answer
        answer = {change}
    return PACK(answer)

channel("worker").pack = pack
"""
    )


GRADIENTS = {
    "names that are numbers": "[value, inputs, [[1, gradient] for _, gradient in named]]",
    "names that are lists": "[value, inputs, [[[name], gradient] for name, gradient in named]]",
    "no names": "[value, inputs, [gradient for _, gradient in named]]",
    "texts": "[value, 'abc', 'ab']",
    "numbers": "[value, [1, 2.0], [[name, 10**4000] for name, _ in named]]",
    "lists of lists": "[value, inputs, [[name, [[1, [2]], [3]] if g is None else g] for name, g in named]]",
    "many lists": "[value, inputs, [[name, [[0]] * 2000 if g is None else g] for name, g in named]]",
}


@pytest.mark.parametrize("what", GRADIENTS)
def test_gradients_that_are_no_tensors_are_no_fault(what, workers):
    report = graded(workers, "decoder", {"decoder": SOLUTION["decoder"] + answering_gradients(GRADIENTS[what])}, 7)
    assert report.points < report.max_points


def test_a_side_effect_check_takes_any_answer(workers):
    """The visible test of a layer looks at the shape of what a second call gives."""
    attack = """
    CALLS = []
    FORWARD = TransformerEncoderLayer.forward
    def odd(self, *arguments, **named):
        CALLS.append(1)
        return FORWARD(self, *arguments, **named) if len(CALLS) != 3 else [torch.zeros(2), [torch.zeros(3)]]
    TransformerEncoderLayer.forward = odd
    """
    text = SOLUTION["encoder"] + "\n" + "\n".join(line[4:] for line in attack.splitlines())
    graded(workers, "encoder", {"encoder": text})


def test_a_million_empty_tensors_are_refused_at_once(workers):
    entries = 'b"{" + b",".join(b\'"%d":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}\' % n for n in range(900000))'
    attack = f"""
        if x.requires_grad:
            listed = {entries} + b"}}"
            body = struct.pack("<Q", len(listed)) + listed
            send(frame(b'{{"value": [{{"$tensor": "0"}}, [], []]}}', body))
            os._exit(0)
    """
    text = TOOLS + pe("", TABLE, "\n".join(line[8:] for line in attack.splitlines()) + "\n" + RIGHT)
    report = graded(workers, "pe", {"pe": text})
    assert "the list of tensors has" in str(report.tests[0])


def test_ten_million_booleans_are_no_sentence(workers):
    text = SOLUTION["transformer"] + (
        "\n\ndef flood(self, src, src_lengths, max_output_length):\n"
        "    flood = torch.ones(9_000_000, dtype=torch.bool)\n"
        "    return [flood, *[torch.ones(3, dtype=torch.long)] * (len(src) - 1)], [[] for _ in src]\n\n"
        "Transformer.inference = flood\n"
    )
    for kind in ("bool", "int8"):
        started = time.monotonic()
        report = graded(workers, "inference", {"transformer": text.replace("torch.bool", f"torch.{kind}")})
        assert len(feedback_html(report)) < 100_000
        assert len(printed_report(report)) < 50_000
        assert time.monotonic() - started < 15


def test_long_messages_are_cut(workers):
    text = pe("", TABLE, "raise ValueError('x' * 3_000_000)")
    report = graded(workers, "pe", {"pe": "import torch\nfrom torch import nn\n" + TOOLS + text})
    assert len(feedback_html(report)) < 100_000


NAN_CACHE = """

RIGHT_STEP = TransformerDecoder.forward_one_step_ec

def no_number(self, x, decoder_padding_mask=None, **named):
    self.calls = vars(self).get("calls", 0) + 1
    if self.calls in (2, 3):
        named["cache"] = self.numbers
    y, self.numbers = RIGHT_STEP(self, x, decoder_padding_mask, **named)
    # Wrong in every sentence of whose cache the step before made NaN.
    if self.calls == 3 and decoder_padding_mask is not None:
        y = y + decoder_padding_mask[:, :-1].any(dim=1)[:, None, None]
    if decoder_padding_mask is None or self.calls > 2:
        return y, self.numbers
    return y, [layer.masked_fill(decoder_padding_mask[..., None] != 0, float("nan")) for layer in self.numbers]


TransformerDecoder.forward_one_step_ec = no_number
"""


def test_a_cache_without_numbers_makes_nothing_right(workers):
    """The next expected value was computed from what the student's cache held: NaN, from which nothing differs."""
    for seed in range(1, 7):  # not every one has padding between the tokens
        report = graded(workers, "inference", {"decoder": SOLUTION["decoder"] + NAN_CACHE}, hidden_seed=seed)
        if "failed" in {part.status for result in report.tests for part in result.parts if part.name == "stack"}:
            return
    raise AssertionError("no step that uses such a cache is wrong")


def test_an_expected_value_that_is_not_finite_is_a_fault_of_the_grader():
    """Nothing differs from it by more than the limit."""
    for number in (np.nan, np.inf):
        expected = np.array([1.0, number])
        for actual in (np.zeros(2), expected):
            with pytest.raises(ValueError, match="the expected value of x is not finite"):
                compare("x", "T", actual, expected, 1e-4)
        assert compare("x", "T", np.ones(2), expected, 1e-4, np.array([True, False])) is None


@pytest.mark.slow
def test_a_loop_without_end_takes_no_time_from_other_stages(workers):
    """A stage has a part of its own for its visible and for its hidden tests; the others earn what they earn."""
    hang = SOLUTION["mha"].replace("scores = query @", "while True:\n            pass\n        scores = query @", 1)
    clock = Clock(12.0)
    stages = [ASSIGNMENT.stage("mha"), ASSIGNMENT.stage("pe")]
    report = grade(Submission("s", {**SOLUTION, "mha": hang}), ASSIGNMENT, workers, stages, lambda _: None, 1, clock)
    mha, pe = report.stages
    assert [test.status for test in mha.tests] == ["timed out"] * 4
    assert [test.status for test in pe.tests] == ["passed"]
    assert clock.left > 0


def test_the_time_of_a_whole_run_is_limited(workers, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("autograder.sandbox.limits.SUBMISSION_SECONDS", 4.0)
    slow = "\n\nimport time\ntime.sleep(3)\n"
    for module, text in SOLUTION.items():
        (tmp_path / f"{module}.py").write_text(text + slow)
    assert main(["--submission", str(tmp_path), "--hidden", "--seed", "1", "--assignment", "transformer"]) == 4
    assert "the time of this stage is used up" in capsys.readouterr().out


LINES = """
odd = type("Total: 110 of 110\\npassed\\x1b[2J", (ValueError,), {})

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_seq_length):
        super().__init__()
        raise odd("nothing")
"""


def test_the_name_of_an_exception_is_one_word(workers):
    test = graded(workers, "pe", {"pe": "from torch import nn\n" + LINES}).tests[0]
    assert test.message == "Total__110_of_110_passed__2J: nothing"


FOUR_AXES = """
import torch as t


def odd(self, x, mask=None):
    return t.full((2, 2, 2, 2), float("nan")) if self.training else right(self, x, mask)

right, TransformerEncoderLayer.forward = TransformerEncoderLayer.forward, odd
"""


@pytest.mark.parametrize("shape", ["(2, 2, 2, 2)", "()", "(0, 3)"])
def test_results_in_training_mode_of_any_shape_are_no_fault(workers, shape):
    """The check of dropout compares results of the student with each other."""
    text = SOLUTION["encoder"] + FOUR_AXES.replace("(2, 2, 2, 2)", shape)
    report = graded(workers, "encoder", {"encoder": text}, hidden_seed=3)
    assert report.points < 30
