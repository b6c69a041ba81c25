"""The line that a verdict points at: calls followed in a real worker, and where people look."""

import json

import numpy as np
import pytest

from autograder.authoring.stored_steps import recipes, traces
from autograder.diagnosis.known_steps import read, stored_calls, stored_file
from autograder.grading.grade_submission import grade
from autograder.grading.named_steps import named_reference, read_names, with_names
from autograder.grading.results import LineMark, from_json, to_json
from autograder.manifest import assignment, every_assignment
from autograder.reports.class_report import class_html
from autograder.reports.gradescope_results import results
from autograder.reports.student_feedback import feedback_html
from autograder.submissions.read_submission import Submission, read_submission
from course.errors import UserError
from tests.pages import Checker, make_report, make_test, text_of

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources


def changed(module: str, old: str, new: str) -> tuple[dict[str, str], int]:
    """The solution with one text replaced, and the number of the line."""
    assert SOURCES[module].count(old) == 1
    text = SOURCES[module].replace(old, new)
    return {**SOURCES, module: text}, SOURCES[module][: SOURCES[module].index(old)].count("\n") + 1


def failed(workers, stage: str, sources: dict[str, str], seed: int | None = None):
    report = grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)], hidden_seed=seed)
    return [test for test in report.tests if test.status != "passed"]


CASES = [  # stage, module, what is replaced, by what, the step that is missing
    ("mha", "mha", "math.sqrt(self.d_k)", "math.sqrt(self.d_model)", "the scores divided by sqrt(d_k)"),
    ("mha", "mha", "torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-2)", "the attention weights"),
    ("mha", "mha", "self.W_k(K)", "self.W_q(K)", "K projected with W_k"),
    (
        "mha",
        "mha",
        "key_padding_mask[:, None, None, :] != 0, lowest",
        "key_padding_mask[:, None, None, :] == 0, lowest",
        "the scores with the padded keys forbidden",
    ),
    ("pe", "pe", "math.log(10000.0)", "math.log(1000.0)", "the frequencies 10000^(-2i / d_model)"),
    (
        "encoder",
        "encoder",
        "self.self_attn_layer_norm(x + self.dropout(attended))",
        "self.self_attn_layer_norm(self.dropout(attended))",
        "self-attention plus its input",
    ),
]


@pytest.mark.parametrize(("stage", "module", "old", "new", "step"), CASES)
def test_the_first_wrong_line_is_named_with_the_step_that_is_missing(workers, stage, module, old, new, step):
    sources, line = changed(module, old, new)
    tests = failed(workers, stage, sources)
    assert tests
    for test in tests:
        assert [(mark.file, mark.line) for mark in test.marks if mark.state == "wrong"] == [(f"{module}.py", line)]
        assert test.fault_step == step
        assert f"Line {line}" in " ".join(test.pointed)


def test_lines_before_the_wrong_one_are_said_to_be_right_with_their_steps(workers):
    sources, line = changed("mha", "torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-2)")
    test = failed(workers, "mha", sources)[1]
    said = "Right so far: the scores q k^T; the scores divided by sqrt(d_k) (line 95);"
    assert test.pointed[0].startswith(said)
    assert test.pointed[1:3] == (
        f"Line {line} is the first whose result is not right:",
        "    x = torch.softmax(scores, dim=-2) @ value",
    )


def test_a_call_of_the_wrong_module_is_named(workers):
    old = "attended = self.encoder_attn(x, encoder_out, encoder_out"
    sources, line = changed("decoder", old, old.replace("encoder_attn", "self_attn"))
    test = failed(workers, "decoder", sources)[0]
    assert [mark.line for mark in test.marks if mark.state == "wrong"] == [line]
    assert "It calls self_attn with what encoder_attn should be called with." in test.pointed


MASKS = "decoder_padding_mask=tgt_padding_mask,\n            decoder_attention_mask=causal_mask"


def test_the_opposite_of_a_mask_is_called_that(workers, without_trials):
    sources, _ = changed("transformer", MASKS, MASKS.replace("=causal", "=1 - causal"))
    told = [" ".join(test.pointed) for test in failed(workers, "decoder", sources)]
    assert any("It calls decoder with the opposite of the causal mask." in one for one in told)


def test_right_numbers_in_a_wrong_order_are_called_that(workers):
    sources, line = changed("mha", "return x.transpose(1, 2)  #", "return x.reshape(B, self.num_heads, T, self.d_k)  #")
    test = failed(workers, "mha", sources)[0]
    assert [mark.line for mark in test.marks if mark.state == "wrong"] == [line]
    assert "they stand in another order" in " ".join(test.pointed)


def test_two_faults_are_both_named(workers):
    text = SOURCES["mha"].replace("self.W_k(K)", "self.W_q(K)")
    text = text.replace("return split_heads(self.W_q(Q)), ", "q = split_heads(self.W_v(Q))\n        return q, ")
    sources = {**SOURCES, "mha": text}
    test = failed(workers, "mha", sources)[0]
    assert [mark.line for mark in test.marks if mark.state == "wrong"] == [57, 58]
    assert "Line 58 gives a wrong result, too:" in test.pointed


def test_before_an_exception_the_line_that_is_wrong_is_named(workers):
    sources, line = changed("mha", "scores = query @", "scores = query * 2 @")
    text = sources["mha"].replace("        lowest =", "        scores.view(7)\n        lowest =")
    test = failed(workers, "mha", {**sources, "mha": text})[0]
    assert test.status == "error"
    assert f"Line {line} of mha.py is the first whose result is not right:" in test.pointed


def test_numbers_without_a_name_in_another_order_accuse_no_line(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.mending_lines.mended", lambda *_: {})
    sources, _ = changed("mha", "key.transpose(-2, -1)", "key.transpose(1, 2)")
    test = failed(workers, "mha", sources)[0]
    assert (test.status, test.pointed) == ("error", ())


def test_a_hidden_test_points_at_the_line_too(workers):
    sources, line = changed("mha", "math.sqrt(self.d_k)", "math.sqrt(15)")
    tests = failed(workers, "mha", sources, seed=1)
    assert all(test.hidden for test in tests)
    assert [mark.line for test in tests for mark in test.marks if mark.state == "wrong"] == [line] * len(tests)


def test_a_passed_test_is_not_followed(workers, monkeypatch):
    monkeypatch.setattr("autograder.sandbox.remote_modules.Student.aside", None)
    assert failed(workers, "mha", dict(SOURCES), seed=1) == []


# Where people look

MARKS = (LineMark("mha.py", 3, "a = <b>", "right", ("a step",)), LineMark("mha.py", 4, "c = 1", "wrong", ("another",)))
POINTED = ("Line 3 is right: a step.", "Line 4 is the first whose result is not right:", "    c = 1 < 2")


def pointing(**fields):
    return make_test("test_a", "failed", message="wrong", pointed=POINTED, marks=MARKS, fault_step="another", **fields)


def test_the_feedback_page_shows_the_lines():
    seen = text_of(feedback_html(make_report(pointing())))
    assert "Line 3 is right: a step. Line 4 is the first whose result is not right: c = 1 < 2" in seen
    assert "mha.py, 3 ✓ right a = <b> a step mha.py, 4 ✗ first wrong c = 1 should be: another" in seen
    assert Checker(feedback_html(make_report(pointing()))).wrong == []


def test_students_see_no_line_of_a_hidden_test():
    shown = feedback_html(make_report(pointing(hidden=True), hidden_seed=1))
    assert "Line 3" not in shown
    assert "first wrong" not in shown
    (entry, _) = results(make_report(pointing(hidden=True), hidden_seed=1))["tests"]
    assert entry["extra_data"]["lines"] == []
    assert "Line 4" not in entry["output"]


def test_results_json_has_the_lines():
    (entry, _) = results(make_report(pointing()))["tests"]
    assert [line["state"] for line in entry["extra_data"]["lines"]] == ["right", "wrong"]
    assert "Line 4 is the first whose result is not right:" in entry["output"]


def test_the_class_report_counts_the_steps_of_first_wrong_lines():
    seen = text_of(class_html([make_report(pointing(), name="anna"), make_report(name="ben")]))
    assert "another mha 1 (50%) 1" in seen


def test_a_report_keeps_its_lines_as_json():
    report = make_report(pointing())
    assert from_json(json.loads(json.dumps(to_json(report)))) == report


# The names of steps


@pytest.mark.parametrize("name", [one.name for one in every_assignment()])
def test_every_named_step_is_in_the_reference(name):
    chosen = assignment(name)
    sources = read_submission(chosen.solution, chosen).sources
    assert with_names(sources, read_names(chosen.folder)).keys() == sources.keys()


def test_a_step_that_is_not_in_the_reference_is_an_error():
    names = {"mha.MultiHeadAttention.forward": {"self.W_x(x)": "a step"}}
    with pytest.raises(UserError, match=r"self\.W_x\(x\).*not in the reference"):
        with_names(SOURCES, names)
    with pytest.raises(UserError, match=r"mha\.Nothing\.forward"):
        with_names(SOURCES, {"mha.Nothing.forward": {"x": "a step"}})


@pytest.mark.parametrize("stage", ["mha", "pe"])
def test_what_is_stored_is_of_the_calls_of_the_visible_tests(workers, stage):
    chosen = ASSIGNMENT.stage(stage)
    reference = named_reference(ASSIGNMENT, chosen)
    calls = recipes(chosen, reference, workers)
    path = stored_file(ASSIGNMENT.expected, stage)
    stored = {digest: known for digest in stored_calls(path) if (known := read(path, digest))}
    assert stored
    assert stored.keys() <= calls.keys()
    for digest, trace in traces([calls[digest] for digest in stored], reference, workers).items():
        found = stored[digest].find(np.nan_to_num(trace.signatures, nan=9.0))
        assert [name for name, node in trace.steps if found[node] < 0] == []
        assert tuple(found[list(trace.results)]) == stored[digest].results


def test_calls_that_draw_random_numbers_are_not_stored(workers):
    """In training mode half of the weights are dropped: correct code computes something else each time."""
    chosen = assignment("attention")
    stage = chosen.stage("scoring")
    reference = named_reference(chosen, stage)
    calls = recipes(stage, reference, workers)
    training = [one for one in calls.values() if any(request.get("method") == "train" for request, _ in one.requests)]
    steady = [one for one in training if any(request.get("steady") for request, _ in one.requests)]
    assert 0 < len(steady) < len(training)
    stored = set(stored_calls(stored_file(chosen.expected, "scoring")))
    assert stored & {one.digest for one in steady}
    assert not stored & {one.digest for one in training if one not in steady}
