"""Repeat a failed call many times, each time with one of the student's functions changed, and read the results."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.remote_values import body_of
from autograder.sandbox.student_faults import Raised


class Changed(Protocol):
    """A changed function: its module, its name ("Class.method" or "function"), and its new code."""

    @property
    def module(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def unit(self) -> str: ...


class ResultSignature(NamedTuple):
    """A worker's description of a result; this is enough because a repeated call earns no points."""

    signature: np.ndarray
    shape: tuple[int, ...]
    fractions: bool


class Trials:
    """Repeats a call with changed functions, in a worker that does nothing else.

    Args:
        ask: sends a request with a body to the worker.
    """

    def __init__(self, recipe: CallReplay, ask: Callable[[dict[str, Any], bytes], Any]) -> None:
        self.recipe, self.ask = recipe, ask
        self.reads = recipe.requests[-1][0]["do"] == "get"  # an attribute, instead of a call
        self._objects: dict[int, int] | None = None  # created without a change

    def results(self, change: Changed) -> tuple[ResultSignature, ...]:
        """Return the results with a change; none if the call raises an exception. The function stays changed.

        Raises:
            TimedOut, Crashed: if the worker died.
        """
        try:
            if self._objects is None:  # from the student's unchanged code, whatever was tried before
                self.ask({"do": "change", "module": change.module, "path": "", "text": ""}, b"")
                self._objects = self.recipe.prepare(self._send)
            changed = {"module": change.module, "path": change.path, "text": change.unit}
            objects = self._objects
            if self.makes_anew(change):
                self.ask({"do": "change", **changed}, b"")
                objects, changed = self.recipe.prepare(self._send), {}
            request, tensors = self.recipe.last(objects)
            return _read(self.ask({**request, "signed": True, "change": changed}, body_of(tensors)))
        except (Raised, LookupError):
            return ()

    def makes_anew(self, change: Changed) -> bool:
        """Whether a change requires new objects, because a changed constructor creates different ones."""
        return self.reads or change.path.endswith("__init__")

    def forget(self) -> None:
        """Forget the objects, since the worker was restarted."""
        self._objects = None

    def _send(self, request: dict[str, Any], tensors: Mapping[str, np.ndarray]) -> int | None:
        return getattr(self.ask(request, body_of(tensors)), "_handle", None)


def _read(reply: Any) -> tuple[ResultSignature, ...]:
    """The results in a worker's reply; none if the reply, which could be anything, is malformed."""
    results = []
    for item in reply if isinstance(reply, list) else []:
        numbers, shape, fractions = item if isinstance(item, list) and len(item) == 3 else ([None], [], False)
        if not _all(numbers, float) or not _all(shape, int) or not isinstance(fractions, bool):
            return ()
        results.append(ResultSignature(np.array(numbers), tuple(shape), fractions))
    return tuple(results)


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)
