"""Record the requests that create, load and call an object, so that the call can be replayed."""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import Raised

Request = tuple[dict[str, Any], Mapping[str, np.ndarray]]  # the header of a request and its tensors
MODES = ("train", "eval")
KEPT = 3  # earlier calls remembered per object
OBJECTS = 9  # the most objects in a replayed call


@dataclass(frozen=True)
class CallReplay:
    """The requests of one call, in order. Objects are numbered in the order of their creation."""

    requests: tuple[Request, ...]
    code: Code  # the code that the call ran
    dtype: str
    earlier: tuple[Request, ...] = ()  # previous calls to the same object, which should not affect it

    @cached_property
    def digest(self) -> str:
        """A hash of the call, its weights and its inputs; it does not depend on the machine or process."""
        hasher = hashlib.sha256(self.dtype.encode())
        for request, tensors in self.requests:
            hasher.update(json.dumps(request, sort_keys=True).encode())
            for name in sorted(tensors):
                hasher.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
                hasher.update(np.ascontiguousarray(tensors[name]).tobytes())
        return hasher.hexdigest()[:16]

    def repeat(
        self, ask: Callable[[dict[str, Any], Mapping[str, np.ndarray]], int | None], earlier: bool = False
    ) -> None:
        """Send the requests again. An exception from the last request is ignored.

        Args:
            ask: sends a request with its tensors and returns the number of the resulting object.
            earlier: whether to replay the object's earlier calls first.

        Raises:
            LookupError: if an object of the original call is not created this time.
        """
        objects = self.prepare(ask)
        if earlier:
            for before, tensors in self.earlier:
                with contextlib.suppress(Raised):
                    ask({**renumbered(before, objects), "unseen": True}, tensors)
        with contextlib.suppress(Raised):
            ask(*self.last(objects))

    def prepare(self, ask: Callable[[dict[str, Any], Mapping[str, np.ndarray]], int | None]) -> dict[int, int]:
        """Send all requests but the last one and return the handles of the created objects.

        Raises:
            LookupError: if an object is not created this time.
            Raised: if one of the requests raises.
        """
        objects: dict[int, int] = {}
        loaded = any(request["do"] == "state" for request, _ in self.requests)
        for request, tensors in self.requests[:-1]:
            # If weights are loaded later, the values that a constructor computes do not matter.
            unseen = {"unseen": True} if loaded and isinstance(request.get("target"), str) else {}
            # A call before an attribute is read may raise: the attribute may be a table that the call fills.
            called = request["do"] == "call" and isinstance(request["target"], int)
            handle = None
            with contextlib.suppress(*((Raised,) if called else ())):
                handle = ask({**renumbered(request, objects), **unseen}, tensors)
            if handle is not None and isinstance(request["target"], str):
                objects[len(objects)] = handle
        return objects

    def last(self, objects: Mapping[int, int]) -> Request:
        """Return the last request, with the objects created by `prepare`."""
        request, tensors = self.requests[-1]
        return renumbered(request, objects), tensors


class CallHistory:
    """Records how the objects of a worker were created."""

    def __init__(self) -> None:
        self._made: dict[int, list[Request]] = {}
        self._last: Request | None = None
        self._called: dict[int, list[Request]] = {}  # the latest calls to each object

    def note(self, request: dict[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
        """Record a request that is about to be sent."""
        self._last = (request, tensors)
        target = request.get("target")
        if request["do"] == "state" and target in self._made:
            self._made[target] = [earlier for earlier in self._made[target] if earlier[0]["do"] != "state"] + [
                self._last
            ]
        elif request["do"] == "call" and request["method"] in MODES and target in self._made:
            self._made[target].append(self._last)
        elif request["do"] == "call" and isinstance(target, int):
            self._called[target] = [*self._called.get(target, ())[-KEPT:], self._last]

    def made(self, handle: int) -> None:
        """Record that the last request created an object. A method that returns its own object creates nothing.

        An object depends only on older objects, which have smaller numbers, so the dependencies contain no cycle.
        """
        makes = self._last is not None and isinstance(self._last[0].get("target"), str)
        if self._last is not None and makes and all(other < handle for other in handles(self._last[0])):
            self._made[handle] = [self._last]

    def last(self, code: Code, dtype: str) -> CallReplay | None:
        """Return the replay of the last request, or None if it is not a call or an object's origin is unknown.

        For an attribute, the replay includes the object's last call, since that call may have set the attribute.
        """
        if self._last is None or self._last[0]["do"] not in ("call", "get"):
            return None
        requests: list[Request] = []
        numbers: dict[int, int] = {}
        called = self._called.get(self._last[0]["target"], [])
        again = [*called[-1:], self._last] if self._last[0]["do"] == "get" else [self._last]
        if not all(self._add(plain(call), requests, numbers) for call in again):
            return None
        before = [plain(earlier) for earlier in called if not any(earlier is call for call in again)]
        known = [earlier for earlier in before if set(handles(earlier[0])) <= numbers.keys()]
        return CallReplay(
            tuple(requests), code, dtype, tuple((renumbered(earlier, numbers), tensors) for earlier, tensors in known)
        )

    def _add(self, wanted: Request, requests: list[Request], numbers: dict[int, int]) -> bool:
        """Append a request after the requests that create its objects. Return False if any are unknown or too many."""
        waiting = [*handles(wanted[0])][::-1]  # a stack: the object to create next is last
        while waiting:
            handle = waiting[-1]
            if handle in numbers:
                waiting.pop()
                continue
            if handle not in self._made or len({*numbers, *waiting}) > OBJECTS:
                return False
            first, *others = self._made[handle]
            if older := [other for other in handles(first[0]) if other not in numbers]:
                waiting += older[::-1]
                continue
            requests.append((renumbered(first[0], numbers), first[1]))
            numbers[handle] = len(numbers)
            requests += [(renumbered(request, numbers), tensors) for request, tensors in others]
        requests.append((renumbered(wanted[0], numbers), wanted[1]))
        return True


def plain(full: Request) -> Request:
    """A copy of the request that asks only for the full result, without gradients or the arguments after the call."""
    request, tensors = full
    if request["do"] != "call":
        return full
    cotangents = request.get("cotangents", ())
    kept = {name: value for name, value in request.items() if name != "cotangents"}
    return {**kept, "take": None, "arguments": False}, {
        name: tensor for name, tensor in tensors.items() if name not in cotangents
    }


def handles(request: Mapping[str, Any]) -> Iterator[int]:
    """Yield the handles of the objects in a request."""
    if isinstance(request.get("target"), int):
        yield request["target"]
    yield from _nested([request.get("args"), request.get("kwargs")])


def _nested(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        if list(value) == ["$handle"]:
            yield value["$handle"]
        else:
            yield from _nested(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _nested(item)


def renumbered(request: Mapping[str, Any], numbers: Mapping[int, int]) -> dict[str, Any]:
    """Renumber the object handles in a request."""

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            if list(value) == ["$handle"]:
                return {"$handle": numbers[value["$handle"]]}
            return {name: replaced(item) for name, item in value.items()}
        return [replaced(item) for item in value] if isinstance(value, list) else value

    changed = {name: replaced(value) if name in ("args", "kwargs") else value for name, value in request.items()}
    if isinstance(request.get("target"), int):
        changed["target"] = numbers[request["target"]]
    return changed
