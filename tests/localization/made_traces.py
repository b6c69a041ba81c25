"""Traces made by hand, for tests that need no worker: a program is a list of operations with their lines and values."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from autograder.localization.reference import ReferenceTrace, trace_of_reference
from autograder.localization.trace import Call, Ending, Line, Trace
from autograder.worker.tracing.signatures import signature
from autograder.worker.tracing.traced_values import signature_of


class Op(NamedTuple):
    """An operation: its name, its line (0: given), the nodes it uses, its value, and its named step."""

    name: str
    line: int
    inputs: tuple[int, ...]
    value: torch.Tensor | list[float]
    step: str = ""


def line(number: int) -> Line:
    return Line("mha.py", number, number)


def _signature(value: torch.Tensor | list[float]) -> tuple[float, ...]:
    return signature(value) if isinstance(value, torch.Tensor) else signature_of(value)


def traced(ops: Sequence[Op], calls: Sequence[Call] = ()) -> Trace:
    """The trace of a program, whose last operation is the result."""
    n = len(ops)
    return Trace(
        made=np.array([bool(op.line) for op in ops]),
        operations=tuple(op.name for op in ops),
        lines=tuple(line(op.line) if op.line else None for op in ops),
        callers=(None,) * n,
        around=np.full(n, -1),
        nan=np.zeros(n, dtype=bool),
        signatures=np.array([_signature(op.value) for op in ops]),
        inputs=tuple(op.inputs for op in ops),
        steps=tuple((op.step, number) for number, op in enumerate(ops) if op.step),
        calls=tuple(calls),
        ending=Ending((n - 1,), (tuple(np.shape(ops[-1].value)),), raised=None, raised_at=None, whole=True),
    )


def reference(ops: Sequence[Op], calls: Sequence[Call] = ()) -> ReferenceTrace:
    """What correct code computes, by a correct program."""
    return trace_of_reference(traced(ops, calls))
