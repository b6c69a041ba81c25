"""How a call came about: the requests that made its object, loaded its weights, and called it; to make it once more."""

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

Request = tuple[dict[str, Any], Mapping[str, np.ndarray]]  # what is asked, and the tensors that go with it
MODES = ("train", "eval")
KEPT = 3  # earlier calls of an object that are known
OBJECTS = 9  # of a call that is made once more


@dataclass(frozen=True)
class CallReplay:
    """The requests of a call, in order; objects are numbered in the order in which these make them."""

    requests: tuple[Request, ...]
    code: Code  # for which the call was made
    dtype: str
    earlier: tuple[Request, ...] = ()  # calls of the same object before this one, which should not matter

    @cached_property
    def digest(self) -> str:
        """The same for the same call with the same weights and inputs, whoever makes it and on whatever machine."""
        found = hashlib.sha256(self.dtype.encode())
        for request, tensors in self.requests:
            found.update(json.dumps(request, sort_keys=True).encode())
            for name in sorted(tensors):
                found.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
                found.update(np.ascontiguousarray(tensors[name]).tobytes())
        return found.hexdigest()[:16]

    def repeat(
        self, ask: Callable[[dict[str, Any], Mapping[str, np.ndarray]], int | None], earlier: bool = False
    ) -> None:
        """Send the requests again. What the last one raises is passed over.

        Args:
            ask: sends a request with its tensors, and gives back the number of the object that is the answer.
            earlier: whether the object is called as it was before, first.

        Raises:
            LookupError: if an object that was made before is not made this time.
        """
        objects = self.prepare(ask)
        if earlier:
            for before, own in self.earlier:
                with contextlib.suppress(Raised):
                    ask({**renumbered(before, objects), "unseen": True}, own)
        with contextlib.suppress(Raised):
            ask(*self.last(objects))

    def prepare(self, ask: Callable[[dict[str, Any], Mapping[str, np.ndarray]], int | None]) -> dict[int, int]:
        """Send all requests but the last one: the objects that they have made.

        Raises:
            LookupError: if an object is not made this time.
            Raised: if one of them raises.
        """
        objects: dict[int, int] = {}
        loaded = any(request["do"] == "state" for request, _ in self.requests)
        for request, tensors in self.requests[:-1]:
            # What a constructor computes is replaced by the weights that are loaded, where some are.
            unseen = {"unseen": True} if loaded and isinstance(request.get("target"), str) else {}
            # A call before one that reads an attribute may raise: a table may be filled there.
            called = request["do"] == "call" and isinstance(request["target"], int)
            handle = None
            with contextlib.suppress(*((Raised,) if called else ())):
                handle = ask({**renumbered(request, objects), **unseen}, tensors)
            if handle is not None and isinstance(request["target"], str):
                objects[len(objects)] = handle
        return objects

    def last(self, objects: Mapping[int, int]) -> Request:
        """The last request, with the objects that `prepare` has made."""
        request, tensors = self.requests[-1]
        return renumbered(request, objects), tensors


class CallHistory:
    """Keeps how the objects of a worker were made."""

    def __init__(self) -> None:
        self._made: dict[int, list[Request]] = {}
        self._last: Request | None = None
        self._called: dict[int, list[Request]] = {}  # the last calls of each object

    def note(self, request: dict[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
        """A request that is sent now."""
        self._last = (request, tensors)
        target = request.get("target")
        if request["do"] == "state" and target in self._made:
            self._made[target] = [one for one in self._made[target] if one[0]["do"] != "state"] + [self._last]
        elif request["do"] == "call" and request["method"] in MODES and target in self._made:
            self._made[target].append(self._last)
        elif request["do"] == "call" and isinstance(target, int):
            self._called[target] = [*self._called.get(target, ())[-KEPT:], self._last]

    def made(self, handle: int) -> None:
        """The last request has made an object; one that is an object's own answer (`eval`) is not new.

        An object is made of older ones only, which have smaller numbers: so nothing goes round in a circle here.
        """
        makes = self._last is not None and isinstance(self._last[0].get("target"), str)
        if self._last is not None and makes and all(other < handle for other in handles(self._last[0])):
            self._made[handle] = [self._last]

    def last(self, code: Code, dtype: str) -> CallReplay | None:
        """How the last request came about; None if it needs an object of unknown origin, or is no call.

        What an attribute holds was made with the object or by its last call, which is made again, too.
        """
        if self._last is None or self._last[0]["do"] not in ("call", "get"):
            return None
        requests: list[Request] = []
        numbers: dict[int, int] = {}
        called = self._called.get(self._last[0]["target"], [])
        again = [*called[-1:], self._last] if self._last[0]["do"] == "get" else [self._last]
        if not all(self._add(plain(one), requests, numbers) for one in again):
            return None
        before = [plain(other) for other in called if not any(other is one for one in again)]
        known = [other for other in before if set(handles(other[0])) <= numbers.keys()]
        return CallReplay(
            tuple(requests), code, dtype, tuple((renumbered(other, numbers), own) for other, own in known)
        )

    def _add(self, one: Request, requests: list[Request], numbers: dict[int, int]) -> bool:
        """Add a request, behind those that make the objects that it names; False if these are unknown or too many."""
        waiting = [*handles(one[0])][::-1]  # the next one to be made is the last
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
        requests.append((renumbered(one[0], numbers), one[1]))
        return True


def plain(one: Request) -> Request:
    """A request for the result alone, all of it: neither gradients nor what becomes of the arguments."""
    request, tensors = one
    if request["do"] != "call":
        return one
    cotangents = request.get("cotangents", ())
    kept = {name: value for name, value in request.items() if name != "cotangents"}
    return {**kept, "take": None, "arguments": False}, {
        name: tensor for name, tensor in tensors.items() if name not in cotangents
    }


def handles(request: Mapping[str, Any]) -> Iterator[int]:
    """The objects that a request names."""
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
    """A request with other numbers for objects."""

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
