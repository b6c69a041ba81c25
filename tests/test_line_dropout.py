"""Dropout that is missing, or stands elsewhere: the line is told."""

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission
from tests.slips import failed, wrong_lines

MISSING = [
    ("encoder", "x + self.dropout(attended)", "x + attended", "self_attn"),
    ("encoder", "self.dropout(self.fc2(hidden))", "self.fc2(hidden)", "fc2"),
    ("decoder", "x + self.dropout(self.fc2(hidden))", "x + self.fc2(hidden)", "fc2"),
]


@pytest.mark.parametrize(("stage", "old", "new", "module"), MISSING)
def test_a_missing_dropout_has_the_line_where_it_belongs(workers, stage, old, new, module):
    tests, line = failed(workers, "transformer", stage, stage, old, new)
    [test] = [test for test in tests if test.message.startswith("dropout is missing")]
    assert wrong_lines(test) == [line]
    made = f" (line {line - 1})" if module == "self_attn" else ""
    assert test.pointed[0] == f"Line {line} of {stage}.py goes on with this output, of {module}{made}, without it:"


ELSEWHERE = [
    (
        "encoder",
        "self.self_attn_layer_norm(x + self.dropout(attended))",
        "self.dropout(self.self_attn_layer_norm(x + attended))",
    ),
    (
        "encoder",
        "self.final_layer_norm(x + self.dropout(self.fc2(hidden)))",
        "self.final_layer_norm(self.dropout(x + self.fc2(hidden)))",
    ),
    ("encoder", "self.dropout(attended)", "nn.functional.dropout(attended, 0.5, self.training)"),
    ("decoder", "x + self.dropout(self.fc2(hidden))", "self.dropout(x) + self.fc2(hidden)"),
    ("decoder", "self.fc2(hidden)", "self.fc2(self.dropout(hidden))"),
]


@pytest.mark.parametrize(("stage", "old", "new"), ELSEWHERE)
def test_dropout_that_stands_elsewhere_has_its_line(workers, stage, old, new):
    tests, line = failed(workers, "transformer", stage, stage, old, new)
    [test] = [test for test in tests if test.message == "dropout does not stand where it should"]
    assert wrong_lines(test) == [line]
    assert test.pointed[0] == f"Line {line} of {stage}.py uses dropout in another place or way than correct code:"


HELPER = """
def joined(norm, x, added, dropout):
    return norm(x + dropout(added))

"""


def test_a_helper_that_is_given_the_wrong_tensor_is_not_to_blame(workers):
    chosen = assignment("transformer")
    sources = dict(read_submission(chosen.solution, chosen).sources)
    text = sources["encoder"].replace("\nclass TransformerEncoderLayer", HELPER + "\nclass TransformerEncoderLayer")
    text = text.replace(
        "self.self_attn_layer_norm(x + self.dropout(attended))",
        "joined(self.self_attn_layer_norm, x, attended, self.dropout)",
    )
    wrong = "x = joined(self.final_layer_norm, self.fc2(hidden), x, self.dropout)"
    text = text.replace("x = self.final_layer_norm(x + self.dropout(self.fc2(hidden)))", wrong)
    report = grade(Submission("", {**sources, "encoder": text}), chosen, workers, [chosen.stage("encoder")])
    [test] = [test for test in report.tests if test.status == "failed"]
    [line] = [number for number, one in enumerate(text.splitlines(), 1) if one.strip() == wrong]
    assert wrong_lines(test) == [line]


def test_of_two_dropouts_that_stand_elsewhere_the_first_is_told(workers):
    old = "hidden = self.activation_fn(self.fc1(x))"
    new = "x = self.dropout(x)\n        hidden = self.dropout(self.activation_fn(self.fc1(x)))"
    tests, line = failed(workers, "transformer", "encoder", "encoder", old, new)
    [test] = [test for test in tests if test.message == "dropout does not stand where it should"]
    assert wrong_lines(test) == [line]
    assert f"Line {line} uses dropout in another place than correct code:" in test.pointed


def test_dropout_on_something_else_is_told_as_such_and_no_step_as_missing(workers, without_trials):
    old = "hidden = gelu(self.fc1(x))  # (B, T, d_model) -> (B, T, d_ff)\n        return self.dropout(self.fc2(hidden))"
    new = "hidden = self.dropout(gelu(self.fc1(x)))\n        return self.fc2(hidden)"
    [test], line = failed(workers, "variants", "layers", "layers", old, new)
    assert wrong_lines(test) == [line]
    assert test.pointed[-3:] == (
        f"Line {line} uses dropout in another place than correct code:",
        "    hidden = self.dropout(gelu(self.fc1(x)))",
        "It is given the hidden layer, after GELU.",
    )


def test_dropout_on_the_result_of_an_attention_is_told_with_its_line(workers):
    old = "return self.dropout(self.attention_weights) @ values"
    new = "return self.dropout(self.attention_weights @ values)"
    [test], line = failed(workers, "attention", "scoring", "scoring", old, new)
    assert "dropout belongs on the weights" in test.message
    assert wrong_lines(test) == [line]
