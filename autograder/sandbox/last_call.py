"""Repeat the last call to a student object on a new object, which must return the same result."""

import contextlib
from collections.abc import Callable
from typing import Any

from autograder.sandbox.student_faults import Raised, StudentFault

KEPT = "A new object does not raise this: your object keeps something from one call to the next."


class LastCall:
    """Stores the result of the last call, and how to repeat the call if the object is in evaluation mode."""

    def __init__(self) -> None:
        self._result: Any = None
        self._ask: Callable[..., Any] | None = None
        self._training: set[int] = set()  # the handles of objects in training mode

    def first(self, request: dict[str, Any], ask: Callable[..., Any]) -> Any:
        """Send a request with `ask()`; `ask(fresh=True)` sends it to a new object."""
        target, called = request.get("target"), request["do"] == "call"
        if called and request["method"] == "train" and isinstance(target, int):
            self._training.add(target)
        elif request["do"] == "state" or (called and request["method"] == "eval"):
            self._training.discard(request["target"])
        self._ask = ask if called and isinstance(target, int) and target not in self._training else None
        try:
            self._result = ask()
        except Raised as fault:
            if self._ask and "cotangents" not in request:
                with contextlib.suppress(StudentFault):
                    self._ask(fresh=True)
                    fault.message += f"\n{KEPT}"
            raise
        return self._result

    def changing(self, equal: Callable[[Any, Any], bool], seed: Callable[[], object]) -> str:
        """Return the reason if a repeated call has a different result ("random", "kept" or "unfilled"), or else "".

        "unfilled" means that the result differs even with the same random numbers: the code reads uninitialised memory.

        Args:
            seed: resets all random number generators.
        """
        if self._ask is None:
            return ""
        try:
            if equal(self._ask(fresh=True), self._result):
                if equal(self._ask(), self._result):
                    return ""
                if equal(self._ask(fresh=True), self._result):  # otherwise uninitialised memory happened to be equal
                    return "kept"
            seeded = []
            for _ in range(2):
                seed()
                seeded.append(self._ask(fresh=True))
            if not equal(*seeded):
                return "unfilled"
            return "kept" if equal(self._ask(fresh=True), seeded[0]) else "random"
        except StudentFault:
            return ""
