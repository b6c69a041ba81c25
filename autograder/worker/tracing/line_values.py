"""In a worker: count how often each statement of the student's files runs in a call, and keep the values it assigns.

Like `function_calls`, this module uses a Python trace function (`sys.settrace`). A tensor's shape is always sent; its
elements are sent only if there are few of them. Like the trace from `tracer`, this record is not trusted.
"""

import contextlib
import linecache
import sys
from collections import Counter
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from autograder.worker.reflection import trace, variables
from autograder.worker.tracing.statements import Statement, statements

MOST_ELEMENTS = 600  # in a tensor that is sent with its elements
MOST_RECORDS = 600  # values
MOST_COUNTED = 100_000  # statements
LONGEST = 12  # items of a list
RETURNED = "return"  # the name for the value of a `return`
WEIGHTS = "attention weights"  # the name for a result whose rows are weights: no element below 0, sum 1


class LineValues:
    """Counts statements and keeps their values, from `start` to `end`.

    Args:
        files: names of the files whose statements are counted.
    """

    def __init__(self, files: set[str]) -> None:
        self.files = files
        self.counts: Counter[tuple[str, int]] = Counter()
        self.values: list[list[Any]] = []  # file, first line, name, value in the form of `described`
        self._open: dict[int, Statement] = {}  # by the id of a running frame: its statement

    def __enter__(self) -> None:
        self._weights = _Weights(self)
        self._weights.__enter__()  # type: ignore[no-untyped-call]
        trace(self)

    def __exit__(self, *error: object) -> None:
        trace(None)
        self._weights.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def __call__(self, frame: FrameType, event: str, arg: Any) -> "LineValues | None":
        file = frame.f_code.co_filename
        if file not in self.files or frame.f_code.co_name[0] == "<":
            return None
        if event == "line":
            now = statements("".join(linecache.getlines(file))).get(frame.f_lineno)
            if now is not None and now is not self._open.get(id(frame)):
                self._end(file, frame)
                self._open[id(frame)] = now
                if self.counts.total() < MOST_COUNTED:
                    self.counts[file, now.first] += 1
        elif event == "return":
            self._end(file, frame)
            last = self._open.pop(id(frame), None)
            if last is not None and last.returns:
                self._keep(file, last, RETURNED, arg)
        return self

    def weights(self, value: Any) -> None:
        """Keep the result of an operation if each of its rows consists of weights that sum to 1."""
        if type(value) is not torch.Tensor or value.ndim < 3 or not 0 < value.numel() <= MOST_ELEMENTS:
            return
        # Inside `vmap` a tensor's values cannot be read.
        with contextlib.suppress(RuntimeError), torch._C.DisableTorchFunction():
            if value.is_floating_point() and value.min() >= 0 and ((value.sum(-1) - 1).abs() < 1e-6).all():
                frame: FrameType | None = sys._getframe(2)
                while frame is not None and frame.f_code.co_filename not in self.files:
                    frame = frame.f_back
                statement = self._open.get(id(frame)) if frame else None
                if frame is not None and statement is not None:
                    self._keep(frame.f_code.co_filename, statement, WEIGHTS, value)

    def _end(self, file: str, frame: FrameType) -> None:
        """Keep the values of the names that the finished statement assigns."""
        last = self._open.get(id(frame))
        for name in last.makes if last else ():
            if last is not None and name in (found := variables(frame)):
                self._keep(file, last, name, found[name])

    def _keep(self, file: str, statement: Statement, name: str, value: Any) -> None:
        with contextlib.suppress(RuntimeError):
            if len(self.values) < MOST_RECORDS and (description := described(value)) is not None:
                self.values.append([file, statement.first, name, description])

    def reply(self) -> list[Any]:
        """Return the record in a form that can be sent: counts and values."""
        counts = [[file, line, count] for (file, line), count in sorted(self.counts.items())]
        return [counts, self.values]


class _Weights(TorchFunctionMode):
    """Passes the result of every operation to `LineValues.weights`."""

    def __init__(self, values: LineValues) -> None:
        super().__init__()
        self.values = values

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        value = func(*args, **(kwargs or {}))
        self.values.weights(value)
        return value


def described(value: Any) -> list[Any] | None:
    """Return [shape, elements or None] for a tensor, ["plain", text] for other simple values, else None."""
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        shown = value.detach().clone() if value.numel() <= MOST_ELEMENTS and value.layout == torch.strided else None
        return [list(value.shape), shown]
    return ["plain", repr(value)] if _plain(value) else None


def _plain(value: Any) -> bool:
    if type(value) in (list, tuple):
        return len(value) <= LONGEST and all(map(_plain, value))
    return (
        value is None
        or type(value) in (bool, float)
        or (type(value) is int and abs(value) < 2**40)
        or (type(value) is str and len(value) < 40)
    )
