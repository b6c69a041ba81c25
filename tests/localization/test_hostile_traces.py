"""Code that attacks the tracer, forged traces, and the time that following may take."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autograder.grading.grade_submission import grade
from autograder.localization.alignment import align
from autograder.localization.reference import trace_of_reference
from autograder.localization.reruns import misplaced_lines
from autograder.localization.source import Source
from autograder.localization.suspects import find_suspects
from autograder.localization.trace import Unreadable, read_trace
from autograder.manifest import assignment
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.submission_clock import Clock
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.quick import some

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources


# The time of a submission

WRONG = {**SOURCES, "pe": SOURCES["pe"].replace("math.log(10000.0)", "math.log(1000.0)")}


def graded(workers, clock: Clock):
    return grade(Submission("", WRONG), ASSIGNMENT, workers, [ASSIGNMENT.stage("pe")], clock=clock)


def test_when_time_is_short_no_call_is_followed(workers, monkeypatch):
    asked: list[str] = []
    ask = Student._ask

    def watched(own: Student, request: dict[str, Any], *rest: Any, **more: Any) -> Any:
        asked.append(request["do"])
        return ask(own, request, *rest, **more)

    monkeypatch.setattr(Student, "_ask", watched)
    clock = Clock(600)
    plenty = graded(workers, clock)
    assert "follow" in asked
    assert any(test.pointed for test in plenty.tests)
    asked.clear()
    clock.left = 299.0
    short = graded(workers, clock)
    assert not {"follow", "record"} & set(asked)
    assert not any(test.pointed for test in short.tests)
    assert [(test.status, test.points) for test in short.tests] == [(test.status, test.points) for test in plenty.tests]


def test_following_takes_no_time_from_the_tests(workers, monkeypatch):
    aside, took = Student.aside, []

    @contextlib.contextmanager
    def watched(own: Student, seconds: float) -> Iterator[Any]:
        before = own._clock.left
        try:
            with aside(own, seconds) as ask:
                yield ask
        finally:
            took.append(before - own._clock.left)

    monkeypatch.setattr(Student, "aside", watched)
    clock = Clock(600)
    assert any(test.pointed for test in graded(workers, clock).tests)
    assert took
    assert set(took) == {0.0}
    assert clock.aside.left < clock.aside.limit == 100


def test_the_time_aside_ends_too(workers):
    clock = Clock(600)
    clock.aside.left = 0.0
    assert not any(test.pointed for test in graded(workers, clock).tests)
    assert not Clock().short


# Records that are no records


def record(**changes):
    fields = {
        "whole": True,
        "labels": ["", "matmul"],
        "places": [["mha.py", 3, 3]],
        "nodes": np.array([[0, 0, -1, -1, -1, 0], [1, 1, 0, -1, 0, 0]]),
        "edges": np.array([[0, 1]]),
        "signatures": np.zeros((2, 8)),
        "steps": [["a step", 1]],
        "calls": [["W_q", 0, -1, [0], [1], 0]],
        "results": [1],
        "raised": None,
        "shapes": [[2, 3]],
        "ran": 3,
        "begun": [["mha.py", 3]],
    }
    return list({**fields, **changes}.values())


def test_a_record_is_read():
    trace = read_trace(record(), {"mha.py": 3})
    assert trace.inputs == ((), (0,))
    assert trace.lines[1] is not None
    assert trace.lines[1].number == 3
    assert trace.calls[0].returns == trace.lines[1]
    assert trace.ending.shapes == ((2, 3),)
    assert trace.ending.reached == {("mha.py", 3)}


FORGED = [
    {"whole": 1},
    {"labels": [[]]},
    {"labels": ["x" * 81, ""]},
    {"places": [["../mha.py", 1, 1]]},
    {"places": [["mha.py", 4, 4]]},
    {"places": [["mha.py", 0, 1]]},
    {"places": [["mha.py", 3, 2]]},
    {"places": [["mha.py", True, 3]]},
    {"places": [["<script>", 1, 1]]},
    {"nodes": np.array([[0, 0, -1, -1, -1, 0]])},
    {"nodes": np.array([[0, 0, -1, -1, -1, 0], [1, 2, 0, -1, 0, 0]])},
    {"nodes": np.array([[0, 0, -1, -1, -1, 0], [1, 1, 1, -1, 0, 0]])},
    {"nodes": np.array([[0, 0, -1, -1, -1, 0], [2, 1, 0, -1, 0, 0]])},
    {"nodes": np.zeros((5000, 6), dtype=np.int64)},
    {"nodes": np.array([[0, 0, -1, -1, -1, 0], [1, 1, 0, -1, 0, 2]])},
    {"nodes": np.zeros((2, 6))},
    {"nodes": "nodes"},
    {"edges": np.array([[1, 1]])},
    {"edges": np.array([[1, 0]])},
    {"edges": np.array([[0, 9]])},
    {"signatures": np.zeros((2, 6))},
    {"signatures": np.zeros((1, 7))},
    {"steps": [["a step", 2]]},
    {"calls": [["W_q", 0, 0, [0], [1], 0]]},
    {"calls": [["W_q", 0, -1, [0] * 1001, [1], 0]]},
    {"calls": [["W_q", 0, -1, [0], [1], 1]]},
    {"calls": [["W_q", 0, -1, [0], [1]]]},
    {"shapes": [[-1]]},
    {"shapes": [[1] * 40]},
    {"shapes": []},  # not one for each result
    {"results": [-1]},
    {"begun": [["mha.py", 4]]},
    {"begun": [["encoder.py", 1]]},
    {"begun": [["mha.py", True]]},
    {"begun": [["mha.py", 1, 2]]},
    {"begun": [["mha.py", 1]] * 5001},
    {"ran": -1},
    {"ran": 2**40},
    {"ran": 0.5},
    {"results": [0.5]},
    {"raised": [0, 7]},
]


@pytest.mark.parametrize("forged", FORGED, ids=lambda forged: str(forged)[:60])
def test_a_forged_record_is_not_read(forged):
    with pytest.raises(Unreadable):
        read_trace(record(**forged), {"mha.py": 3})


def test_strange_numbers_of_a_record_count_as_none():
    strange = np.array([[np.nan] * 8, [1e300] * 8])
    assert np.isnan(read_trace(record(signatures=strange), {"mha.py": 3}).signatures).all()


# A hostile worker

FORGING = """
import sys

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        for name in "qkvo":
            setattr(self, f"W_{name}", nn.Linear(d_model, d_model))

    def forged(self, query):
        tracers = [frame for frame in sys.modules if frame == "autograder.worker.tracing.tracer"]
        tracer = sys.modules[tracers[0]]._Running.current if tracers else None
        if tracer is not None:
            TAMPER
        return torch.zeros(len(query), query.size(2), 60)

    def compute_mh_qkv_transformation(self, Q, K, V):
        return self.forged(Q), self.forged(K), self.forged(V)

    def compute_scaled_dot_product_attention(self, query, key, value, key_padding_mask=None, attention_mask=None):
        return self.forged(query)
"""
TAMPERING = [
    "tracer.places = {('<b>mha.py</b>', 1): 0}",
    "tracer.places = {('mha.py', 10**9): 0}",
    "tracer.labels = {'\\x1b[2J' * 100: 0}",
    "tracer.reply = lambda: [True] * 13",
    "tracer.reply = lambda: None",
    "tracer.reply = lambda: ['x' * 100] * 100000",
    "tracer.signatures = [(float('nan'),) * 8] * 10**5",
    "tracer.nodes = [(1, 0, 0, 0, 0, 0)] * 10**6",
    "tracer.calls = [['x' * 10**4, 0, -1, [], [], -1]] * 10**3",
    "sys.setprofile(lambda *_: 1 / 0)",
    "tracer.shapes = [[2**70]] * 10**5",
    "exec(compile('\\n' * 10**5 + 'query + 1', 'mha.py', 'exec'))",
    "[torch.ones(2**20) + 1 for _ in range(60)]",
    "tracer.end = 1e99; [torch.ones(3) + 1 for _ in range(10**4)]",
    "sys.exit(0)",
    "raise BaseException",
    "query.__class__ = type('T', (torch.Tensor,), {'__torch_function__': lambda *a, **k: 1 / 0})",
]
LONG = [one for one in TAMPERING if "range(60)" in one or "range(10**4)" in one]


def test_forged_records_with_thousands_of_dropouts_cost_little():
    n = 4000
    nodes = np.array([[1, 1, 0, -1, 0, 0]] * n)
    edges = np.array([(source, node) for node in range(2000, n) for source in range(100)])
    calls = [["self_attn", 0, -1, [0], list(range(1000)), 0]] * 1000
    forged = record(
        labels=["", "dropout"], nodes=nodes, edges=edges, signatures=np.full((n, 8), 0.1), calls=calls, steps=[]
    )
    trace = read_trace(forged, {"mha.py": 3})
    known = trace_of_reference(replace(trace, inputs=((),) * n, calls=()))
    started = time.process_time()
    lines = misplaced_lines(trace, known, ["self_attn"], "dropout")
    assert set(lines) <= set(trace.lines)  # its own
    suspects = find_suspects(align(trace, known), Source({"mha.py": "x = 1\n" * 3}))
    assert {suspect.line for suspect in suspects} <= set(trace.lines)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("tampering", some(TAMPERING, every=1, also_slow=LONG))
def test_a_forged_trace_changes_no_point_and_brings_nothing_in(workers, tampering, monkeypatch):
    # The search for what is forbidden would find it; here it got past.
    passed = SimpleNamespace(forbidden={}, modules={}, review=())
    monkeypatch.setattr("autograder.grading.grade_submission.check_submission", lambda *_, **__: passed)
    asked: list[Any] = []
    aside = Student.aside
    monkeypatch.setattr(Student, "aside", lambda *given: (asked.append(given), aside(*given))[1])  # type: ignore[func-returns-value]
    sources = {**SOURCES, "mha": FORGING.replace("TAMPER", tampering)}
    started = time.monotonic()
    report = grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")])
    assert time.monotonic() - started < 60
    assert report.points == 0
    assert not report.faulty
    assert asked
    for test in report.tests:
        shown = " ".join(test.pointed) + "".join(mark.file + mark.text for mark in test.marks)
        assert "<b>" not in shown
        assert "\x1b" not in shown
        lines = sources["mha"].splitlines()
        assert all(mark.file == "mha.py" and mark.text in lines[mark.line - 1] for mark in test.marks)
