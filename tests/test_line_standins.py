"""A followed call does not look inside the stand-ins of other stages: each of their calls is one operation."""

import pytest

from autograder.grading import point_at_line
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox import traces as traces_of
from autograder.submissions.read_submission import Submission, read_submission


@pytest.fixture
def traces(monkeypatch):
    """The records of the calls that are followed."""
    found = []

    def read(*args):
        found.append(read_trace(*args))
        return found[-1]

    read_trace = traces_of.read_trace
    monkeypatch.setattr(point_at_line, "read_trace", read)
    return found


def failed(workers, stage: str, module: str, old: str, new: str):
    """The failed tests of the solution with a text replaced, and its line."""
    chosen = assignment("transformer")
    sources = read_submission(chosen.solution, chosen).sources
    text = sources[module]
    assert old in text
    changed = Submission("", {**sources, module: text.replace(old, new, 1)})
    report = grade(changed, chosen, workers, [chosen.stage(stage)])
    return [test for test in report.tests if test.status != "passed"], text[: text.index(old)].count("\n") + 1


def test_a_call_of_a_standin_is_one_operation(workers, traces, without_trials):
    old = "attended = self.encoder_attn(x, encoder_out, encoder_out"
    tests, line = failed(workers, "decoder", "decoder", old, old.replace("(x, encoder_out, encoder_out", "(x, x, x"))
    assert tests
    for trace in traces:
        assert trace.whole
        assert "MultiHeadAttention" in trace.operations
        assert not {"softmax", "masked_fill", "scaled_dot_product_attention"} & set(trace.operations)
        assert trace.ran > 3 * trace.size  # what they compute is counted all the same
    marks = [mark.line for mark in tests[0].marks if mark.state == "wrong"]
    assert marks == [line]


def test_an_exception_inside_a_standin_is_one_of_the_line_that_calls_it(workers, traces, without_trials):
    old = "attended = self.encoder_attn(x, encoder_out, encoder_out"
    tests, line = failed(workers, "decoder", "decoder", old, old.replace("(x, enc", "(x[..., :-1], enc"))
    assert {test.status for test in tests} == {"error"}
    assert {trace.raised_at.number for trace in traces} == {line}
    assert all(trace.raised for trace in traces)


def test_code_of_the_student_that_a_standin_runs_is_followed(workers, traces, without_trials):
    """A pooling that is given a kernel of the student's own."""
    chosen = assignment("attention")
    sources = read_submission(chosen.solution, chosen).sources
    stage = chosen.stage("pooling")
    old = "torch.exp(-(u**2) / 2)"
    assert old in sources["pooling"]
    changed = Submission("", {**sources, "pooling": sources["pooling"].replace(old, "torch.exp(-(u**2) / 3)")})
    grade(changed, chosen, workers, [stage])
    files = {line.file for trace in traces for line in trace.lines if line}
    assert files == {"pooling.py"}
