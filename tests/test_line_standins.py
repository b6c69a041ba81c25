"""A followed call does not look inside the stand-ins of other stages: each of their calls is one operation."""

from typing import Any

import pytest
import torch

from autograder.grading import point_at_line
from autograder.sandbox import ready_made
from autograder.sandbox import traces as traces_of
from autograder.sandbox.follow import Tracer
from tests.slips import failed


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


def test_a_call_of_a_standin_is_one_operation(workers, traces, without_trials):
    old = "attended = self.encoder_attn(x, encoder_out, encoder_out"
    tests, line = failed(
        workers, "transformer", "decoder", "decoder", old, old.replace("(x, encoder_out, encoder_out", "(x, x, x")
    )
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
    tests, line = failed(workers, "transformer", "decoder", "decoder", old, old.replace("(x, enc", "(x[..., :-1], enc"))
    assert {test.status for test in tests} == {"error"}
    assert {trace.raised_at.number for trace in traces} == {line}
    assert all(trace.raised for trace in traces)


PART = """
class Part(nn.Module):
    def __init__(self, kernel=None):
        super().__init__()
        self.kernel = kernel

    def forward(self, x):
        return torch.relu(x) if self.kernel is None else self.kernel(x)
"""


@pytest.mark.parametrize("own", [False, True])
def test_a_standin_that_runs_code_of_the_student_is_looked_into(own, monkeypatch):
    """As a pooling that is given a kernel of the student's."""
    monkeypatch.setattr(ready_made, "TRUSTED", {})
    space: dict[str, Any] = {"nn": torch.nn, "torch": torch}
    code = compile(PART, "<stand-in part>", "exec")
    ready_made.trust(code)
    exec(code, space)
    exec(compile("def kernel(x):\n    return torch.exp(-x)", "mine.py", "exec"), space)
    part = space["Part"](space["kernel"] if own else None)
    tracer = Tracer({"mine.py"})
    with tracer.running(part):
        part(torch.randn(3))
    assert ("exp" in tracer.labels, "Part" in tracer.labels, "relu" in tracer.labels) == (own, not own, False)
