"""The record of a traced call, as the grader receives it from a worker. It is checked, not trusted.

The student's code runs in the process that writes the record, so it can forge a record. A forged record can only change
which of the student's own lines a hint names. The grader therefore checks a record's form, sizes and numbers. Only
existing file names and line numbers, and names of steps that the grader knows, ever reach a report.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.sandbox.limits import MAX_AXES, MOST_LINES, MOST_RAN, TRACE_NODES
from autograder.worker.tracing.signature_weights import COLUMNS

GIVEN = 0  # the kind of a node that is not the result of an operation


class Unreadable(Exception):
    """The received data are not the record of a call."""


@dataclass(frozen=True)
class Line:
    """A statement of the student's code: its first and last line."""

    file: str
    number: int
    end: int


@dataclass(frozen=True)
class Call:
    """A call to a module or function inside the traced call."""

    path: str  # "layers.0.self_attn", or the name of its class; "layers.0.forward()" for a function
    line: Line | None
    around: int  # the call that contains it, or -1
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    returns: Line | None = None  # where the function returns


@dataclass(frozen=True)
class Ending:
    """How a traced call ended, and how far it got."""

    results: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]  # of the results
    raised: tuple[int, ...] | None  # the inputs of the operation that raised an exception
    raised_at: Line | None
    whole: bool  # whether the record includes the end of the call; a limit may have cut it off
    ran: int = 0  # the cost of all operations, including those of stand-ins: one each, and more for large tensors
    reached: frozenset[tuple[str, int]] = frozenset()  # the files and lines


@dataclass(frozen=True)
class Trace:
    """Tensors and the tensors that they were computed from. Nodes are numbered in chronological order."""

    made: np.ndarray  # (n,) whether an operation computed it
    operations: tuple[str, ...]  # (n,)
    lines: tuple[Line | None, ...]  # (n,)
    callers: tuple[Line | None, ...]  # (n,) where the function of that line was called
    around: np.ndarray  # (n,) the module call that contains it, or -1
    nan: np.ndarray  # (n,) whether it contains NaN
    signatures: np.ndarray  # (n, COLUMNS), NaN if there is none
    inputs: tuple[tuple[int, ...], ...]  # (n,)
    steps: tuple[tuple[str, int], ...]  # named values of the reference
    calls: tuple[Call, ...]
    ending: Ending

    @property
    def size(self) -> int:
        return len(self.operations)

    def places(self) -> set[Line]:
        """The lines of all operations and calls."""
        return {line for line in (*self.lines, *self.callers, *(call.line for call in self.calls)) if line}


def read_trace(value: Any, lengths: Mapping[str, int]) -> Trace:
    """Return the record in a reply.

    Args:
        lengths: the number of lines of each file that may occur.

    Raises:
        Unreadable: if it is not a valid record.
    """
    if not isinstance(value, list) or len(value) != 13 or not isinstance(value[0], bool):
        raise Unreadable
    whole, labels, places, nodes, edges, signatures, steps, calls, results, raised, *rest = value
    shapes, ran, begun = rest
    _check_array(nodes, np.int64, 6, TRACE_NODES + 10)
    n = len(nodes)
    _check_array(edges, np.int64, 2, 50 * TRACE_NODES)
    _check_array(signatures, np.float64, COLUMNS, n, n)
    names = tuple(_text(label) for label in _list(labels, TRACE_NODES))
    lines = tuple(_line(place, lengths) for place in _list(places, TRACE_NODES))
    known = _list(calls, TRACE_NODES)
    if n and (
        not np.isin(nodes[:, (0, 5)], (0, 1)).all()
        or not _within(nodes[:, 1], 0, len(names))
        or not _within(nodes[:, 2:4], -1, len(lines))
        or not _within(nodes[:, 4], -1, len(known))
    ):
        raise Unreadable
    if len(edges) and not (_within(edges, 0, n) and (edges[:, 0] < edges[:, 1]).all()):
        raise Unreadable
    result_nodes, sizes = _numbers(results, n), tuple(_shape(shape) for shape in _list(shapes, 1000))
    if len(result_nodes) != len(sizes):
        raise Unreadable
    inputs: list[list[int]] = [[] for _ in range(n)]
    for source, node in edges.tolist():
        inputs[node].append(source)
    finite = np.isfinite(signatures) & (np.abs(signatures) <= 2)
    at, into = (None, None) if raised is None else _raised(raised, n, lines)
    return Trace(
        made=nodes[:, 0] != GIVEN,
        operations=tuple(names[label] for label in nodes[:, 1].tolist()),
        lines=tuple(None if place < 0 else lines[place] for place in nodes[:, 2].tolist()),
        callers=tuple(None if place < 0 else lines[place] for place in nodes[:, 3].tolist()),
        around=nodes[:, 4],
        nan=nodes[:, 5] == 1,
        signatures=np.where(finite.all(axis=1, keepdims=True), signatures, np.nan),
        inputs=tuple(map(tuple, inputs)),
        steps=tuple(_step(step, n) for step in _list(steps, TRACE_NODES)),
        calls=tuple(_call(call, number, n, lines) for number, call in enumerate(known)),
        ending=Ending(
            results=result_nodes,
            shapes=sizes,
            raised=into,
            raised_at=at,
            whole=whole,
            ran=_number(ran, 0, MOST_RAN + 1),
            reached=frozenset(_reached(place, lengths) for place in _list(begun, MOST_LINES)),
        ),
    )


def _reached(value: Any, lengths: Mapping[str, int]) -> tuple[str, int]:
    file, number = value if _long(value, 2) else (None, None)
    line = _line([file, number, number], lengths)
    return line.file, line.number


def _check_array(value: Any, dtype: Any, columns: int, most: int, least: int = 0) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != 2 or value.shape[1] != columns:
        raise Unreadable
    if not least <= len(value) <= most:
        raise Unreadable


def _within(values: np.ndarray, low: int, high: int) -> bool:
    return bool(((values >= low) & (values < high)).all())


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise Unreadable
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 80:
        raise Unreadable
    return value


def _number(value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value < high:
        raise Unreadable
    return value


def _numbers(value: Any, n: int) -> tuple[int, ...]:
    return tuple(_number(item, 0, n) for item in _list(value, 1000))


def _line(value: Any, lengths: Mapping[str, int]) -> Line:
    file, first, last = _list(value, 3) if isinstance(value, list) and len(value) == 3 else (None, None, None)
    if not isinstance(file, str) or file not in lengths:
        raise Unreadable
    first = _number(first, 1, lengths[file] + 1)
    return Line(file, first, _number(last, first, lengths[file] + 1))


def _step(value: Any, n: int) -> tuple[str, int]:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str) or len(value[0]) > 200:
        raise Unreadable
    return value[0], _number(value[1], 0, n)


def _call(value: Any, number: int, n: int, lines: tuple[Line, ...]) -> Call:
    path, place, around, inputs, outputs, returns = _list(value, 6) if _long(value, 6) else (None,) * 6
    at = [None if (index := _number(item, -1, len(lines))) < 0 else lines[index] for item in (place, returns)]
    return Call(_text(path), at[0], _number(around, -1, number), _numbers(inputs, n), _numbers(outputs, n), at[1])


def _long(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(_number(size, 0, 2**31) for size in _list(value, MAX_AXES))


def _raised(value: Any, n: int, lines: tuple[Line, ...]) -> tuple[Line | None, tuple[int, ...]]:
    place, *inputs = _list(value, 1001) or [None]
    place = _number(place, -1, len(lines))
    return None if place < 0 else lines[place], _numbers(inputs, n)
