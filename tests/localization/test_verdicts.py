"""One program for each kind of evidence: the verdict names the line, and says why in the words of this kind."""

from functools import cache

import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission
from tests.support.slips import failed, graded_text, line_of, source, told, wrong_lines

# Kind: assignment, stage, module, what is replaced, by what, and a part of what is said.
FAILS = {
    "value": (
        *("transformer", "mha", "mha", "math.sqrt(self.d_k)", "math.sqrt(self.d_model)"),
        "Expected here: the scores divided by sqrt(d_k).",
    ),
    "call": (
        *("transformer", "decoder", "decoder", "self.encoder_attn(x, encoder_out", "self.self_attn(x, encoder_out"),
        "It calls self_attn with the inputs of encoder_attn.",
    ),
    "exception": (*("transformer", "mha", "mha", "transpose(-2, -1)", "transpose(-2, -2)"), "makes the result right."),
    "discarded": (
        *("transformer", "mha", "mha", "scores = scores.masked_fill(", "scores.masked_fill("),
        "Its result is discarded",
    ),
    "number": (
        *("variants", "generate", "generate", "cache[0][0].size(2)", "cache[0][0].size(1)"),
        "makes the result right.",
    ),
}
# The same for what a repeated call shows, beside a message or a warning.
REPEATED = {
    "random": (
        *("transformer", "encoder", "encoder", "self.dropout(attended)", "torch.dropout(attended, 0.1, True)"),
        "It draws random numbers.",
    ),
    "argument": (
        *("variants", "layers", "layers", "        return self.weight * (x - mean) /"),
        *("        x -= mean\n        return self.weight * x /", "It changes the argument x in place."),
    ),
    "graph": (
        *("transformer", "encoder", "encoder", "    hidden = self.activation_fn(self.fc1(x))"),
        "    x = x.detach()\n        hidden = self.activation_fn(self.fc1(x))",
        "It detaches values from the autograd graph.",
    ),
}


@cache
def failed_as(kind, workers):
    *program, _ = FAILS[kind]
    return failed(workers, *program)


@pytest.mark.parametrize("kind", FAILS)
def test_the_line_of_a_failed_test(workers, kind):
    _, _, module, *_, words = FAILS[kind]
    tests, line = failed_as(kind, workers)
    assert [line] in [wrong_lines(test) for test in tests]
    assert all(wrong_lines(test) in ([line], []) for test in tests)
    assert f"{module}.py:{line} is" in told(tests)
    assert words in told(tests)


@pytest.mark.parametrize("kind", REPEATED)
def test_the_line_that_a_repeated_call_shows(workers, kind):
    name, stage, module, old, new, words = REPEATED[kind]
    text = source(name, module)
    assert old in text
    line = line_of(text, old)
    tests = graded_text(workers, name, stage, module, text.replace(old, new, 1))
    told_lines = [test for test in tests if test.pointed]
    assert [line] in [wrong_lines(test) for test in told_lines]
    assert words in told(told_lines)


def test_no_line_is_right_that_comes_after_the_wrong_one(workers):
    tests, line = failed_as("value", workers)
    for test in tests:
        right = [mark.line for mark in test.marks if mark.state == "right"]
        assert all(one != line for one in right)


def test_a_repair_in_one_test_is_tried_in_the_others(workers):
    """All tests of a stage that fail for one reason name the same line."""
    tests, line = failed_as("value", workers)
    assert {tuple(wrong_lines(test)) for test in tests} == {(line,)}


@pytest.mark.parametrize("name", ["transformer", "attention", "variants"])
def test_correct_programs_are_not_followed(workers, name, monkeypatch):
    """A correct submission never pays for diagnosis."""
    monkeypatch.setattr("autograder.localization.localize", lambda *_: 1 / 0)
    chosen = assignment(name)
    programs = correct_submissions(chosen)
    title = sorted(programs)[len(programs) // 2]
    stage = chosen.stages[0]
    report = grade(Submission(title, programs[title][0].sources), chosen, workers, [stage])
    assert report.points == report.max_points


def test_an_error_of_what_only_explains_costs_only_the_lines(workers, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("autograder.localization.find_suspects", broken)
    monkeypatch.setattr("autograder.grading.stage_run.STRICT", False)
    tests, _ = failed(workers, "transformer", "encoder", "encoder", "self.dropout(attended)", "0.5 * attended")
    assert {(test.status, test.pointed) for test in tests} == {("failed", ())}
