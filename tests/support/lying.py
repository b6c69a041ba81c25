"""A worker that lies: a real one, of whose answers some are exchanged on the wire, before the grader reads them."""

import io
import itertools
import json
from collections.abc import Callable
from typing import Any

from autograder.sandbox import remote_modules
from autograder.sandbox.call_replay import handles
from autograder.sandbox.wire import MAGIC, PREFIX, read_frame

MARK = "# whose worker lies"  # in the text of a submission


def value(answer: Any) -> bytes:
    return json.dumps({"value": answer}).encode()


def error(**fields: Any) -> bytes:
    return json.dumps({"error": fields}).encode()


def handle(number: Any) -> dict[str, Any]:
    return {"$handle": number}


def deep(inside: str, levels: int) -> bytes:
    return b'{"value": ' + b"[" * levels + inside.encode() + b"]" * levels + b"}"


# A header from the objects that the request names: its target, if that is one, and its arguments.
LIES: dict[str, Callable[[list[int]], bytes]] = {
    "the object itself": lambda named: value(handle(named[0] if named else 0)),
    "an argument": lambda named: value(handle(named[-1] if named else 0)),
    "always the first object": lambda named: value(handle(0)),
    "an unknown object": lambda named: value(handle(10**6)),
    "a huge number": lambda named: value(handle(10**300)),
    "a negative number": lambda named: value(handle(-1)),
    "a text for a number": lambda named: value(handle("0")),
    "a list for a number": lambda named: value(handle([handle(0)])),
    "truth for a number": lambda named: value(handle(True)),
    "a fraction for a number": lambda named: value(handle(1.5)),
    "the same object often": lambda named: value([handle(named[0] if named else 0)] * 3),
    "many new objects": lambda named: value([handle(number) for number in range(1000, 9000)]),
    "objects in tuples": lambda named: value({"$tuple": [handle(7000), {"$tuple": [handle(0), None]}]}),
    "objects of descending numbers": lambda named: value([handle(number) for number in range(9000, 8990, -1)]),
    "an object eight lists deep": lambda named: deep('{"$handle": 5000}', 8),
    "lists without end": lambda named: deep("0", 50_000),
    "lists that are a little too deep": lambda named: deep("0", 12),
    "a function": lambda named: value({"$function": "os.system"}),
    "a tensor that is not there": lambda named: value({"$tensor": "17"}),
    "an unknown leaf": lambda named: value({"$object": 1}),
    "a leaf with two names": lambda named: value({"$handle": 0, "$tensor": "0"}),
    "no value": lambda named: b"{}",
    "a type in place of a value": lambda named: json.dumps({"type": "x" * 10_000, "value": handle(0)}).encode(),
    "no object": lambda named: b"[]",
    "no JSON": lambda named: b"\xff\xfe",
    "numbers of thousands of digits": lambda named: b'{"value": ' + b"9" * 4000 + b"}",
    "an error that is an object": lambda named: json.dumps({"error": handle(0)}).encode(),
    "an error with objects": lambda named: error(kind=handle(0), message=[handle(0)], where=[[handle(1)] * 4] * 5),
    "an error with odd places": lambda named: error(
        kind="A", message="b", where=[["a.py", True, 1, None], ["pe.py", -(10**30), "f", "x"], 7, ["pe.py"] * 5]
    ),
    "an error with many places": lambda named: error(kind="A", message="b", where=[["pe.py", 1, "f", "x"]] * 5000),
    "an error without end": lambda named: (
        b'{"error": {"kind": "A", "message": "b", "where": ' + b"[" * 900 + b"]" * 900 + b"}}"
    ),
    "a stub that is none": lambda named: error(kind="NotImplementedError", message="", unwritten=True, where=[]),
    "a ready-made part": lambda named: error(kind="ReadyMade", message="x", where=7),
    "a text": lambda named: value("x" * 200_000),
    "shapes without end": lambda named: value([["w", [2**40, 2**40]]] * 100),
}


class Liar:
    """A worker whose answer to one request is exchanged."""

    def __init__(self, worker: Any, lie: bytes) -> None:
        self._worker, self._lie, self._answer = worker, lie, io.BytesIO()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._worker, name)

    @property
    def reader(self) -> "Liar":
        return self

    def read(self, size: int) -> bytes:
        if not self._answer.getbuffer().nbytes:
            _, body = read_frame(self._worker.reader)
            self._answer = io.BytesIO(PREFIX.pack(MAGIC, len(self._lie), len(body)) + self._lie + body)
        return self._answer.read(size)

    def read1(self, size: int) -> bytes:
        return bytes(self._worker.reader.read1(size))


def lies(monkeypatch: Any, way: str, numbers: Any) -> None:
    """From now on these answers of marked submissions are lies, counted from the first call on."""
    exchange, count = vars(remote_modules)["exchange"], itertools.count()

    def lying(worker: Any, request: dict[str, Any], body: bytes, seconds: float, proxy: Any) -> Any:
        student = proxy.func.__self__
        marked = any(MARK in text for text in student.code.sources.values()) and request["do"] not in ("load", "import")
        if marked and next(count) in numbers:
            worker = Liar(worker, LIES[way]([*handles(request)]))
        return exchange(worker, request, body, seconds, proxy)

    monkeypatch.setattr(remote_modules, "exchange", lying)
