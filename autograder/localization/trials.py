"""A failed call, made again and again, each time with one function of the student's changed: what comes back."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.remote_values import body_of
from autograder.sandbox.student_faults import Raised


class Changed(Protocol):
    """A changed function: its module, its name ("Class.method" or "function"), and a text with it."""

    @property
    def module(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def unit(self) -> str: ...


class Came(NamedTuple):
    """A result as a worker tells it: what decides about no point need not be sent whole."""

    signature: np.ndarray
    shape: tuple[int, ...]
    fractions: bool


class Trials:
    """Makes a call with changed functions, in a worker in which nothing else is done.

    Args:
        ask: sends a request with a body to the worker.
    """

    def __init__(self, recipe: CallReplay, ask: Callable[[dict[str, Any], bytes], Any]) -> None:
        self.recipe, self.ask = recipe, ask
        self.reads = recipe.requests[-1][0]["do"] == "get"  # an attribute, in place of a call
        self._objects: dict[int, int] | None = None  # made without a change

    def results(self, change: Changed) -> tuple[Came, ...]:
        """What comes back with a change; nothing if an exception does. The function stays changed.

        Raises:
            TimedOut, Crashed: if the worker has ended.
        """
        try:
            if self._objects is None:  # of the student's own code, whatever was tried before
                self.ask({"do": "change", "module": change.module, "path": "", "text": ""}, b"")
                self._objects = self.recipe.prepare(self._send)
            what = {"module": change.module, "path": change.path, "text": change.unit}
            objects = self._objects
            if self.makes_anew(change):
                self.ask({"do": "change", **what}, b"")
                objects, what = self.recipe.prepare(self._send), {}
            request, tensors = self.recipe.last(objects)
            return _read(self.ask({**request, "signed": True, "change": what}, body_of(tensors)))
        except (Raised, LookupError):
            return ()

    def makes_anew(self, change: Changed) -> bool:
        """Whether a change takes new objects: what a changed constructor makes is another one."""
        return self.reads or change.path.endswith("__init__")

    def forget(self) -> None:
        """The worker was started anew."""
        self._objects = None

    def _send(self, request: dict[str, Any], tensors: Mapping[str, np.ndarray]) -> int | None:
        return getattr(self.ask(request, body_of(tensors)), "_handle", None)


def _read(found: Any) -> tuple[Came, ...]:
    """What a worker has sent, if it has the form of results; it could be anything."""
    results = []
    for one in found if isinstance(found, list) else []:
        numbers, shape, fractions = one if isinstance(one, list) and len(one) == 3 else ([None], [], False)
        if not _all(numbers, float) or not _all(shape, int) or not isinstance(fractions, bool):
            return ()
        results.append(Came(np.array(numbers), tuple(shape), fractions))
    return tuple(results)


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(type(one) is kind for one in values)
