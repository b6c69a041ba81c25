"""A followed call does not look inside the stand-ins of other stages: each of their calls is one operation."""

from typing import Any

import pytest
import torch

from autograder.authoring.stored_steps import other_code, recipes
from autograder.grading import point_at_line
from autograder.grading.point_at_line import followed
from autograder.manifest import assignment
from autograder.sandbox import ready_made
from autograder.sandbox import traces as traces_of
from autograder.sandbox.follow import Tracer
from autograder.sandbox.recipes import Recipe
from autograder.sandbox.remote_modules import Student
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


def test_a_record_is_the_same_each_time_whatever_modules_a_stand_in_makes(workers):
    """Modules that live only for a while: another one may stand where one of them stood."""
    chosen = assignment("transformer")
    stage = chosen.stage("inference")
    code = other_code(chosen, stage)["step-projections-of-the-last-query"]
    calls = recipes(stage, code, workers).values()
    call = min((one for one in calls if one.requests[-1][0].get("method") == "inference"), key=size)
    student = Student(workers, code)
    try:
        records = [followed(call, student) for _ in range(6)]
    finally:
        student.close()
    assert records[0].size > 1000
    assert len({one.operations for one in records}) == 1


def size(recipe: Recipe) -> int:
    """The elements of all tensors of a call."""
    return sum(tensor.size for _, tensors in recipe.requests for tensor in tensors.values())
