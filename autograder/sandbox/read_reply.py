"""Decode a worker's reply: check every type, count and size before creating any value.

Nothing in a reply is trusted. A reply has at most MAX_HEADER bytes of JSON and MAX_BODY bytes of tensors (see `wire`).
The list of tensors in a body is also limited to MAX_HEADER bytes, because reading a million empty tensors would take
seconds.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.sandbox.limits import MAX_AXES, MAX_BODY, MAX_HEADER, MAX_NUMBER
from autograder.sandbox.remote_values import DTYPES, Foreign, Gradients
from autograder.sandbox.wire import FrameError, unflatten

HUGE = Foreign("a whole number of more than 64 bits")


def read_value(header: dict[str, Any], body: bytes, proxy: Callable[[int], Any]) -> Any:
    """Return the value of a reply.

    Args:
        proxy: creates a proxy for an object that stays in the worker, from the object's handle.

    Raises:
        FrameError: if the reply is malformed.
    """
    if isinstance(kind := header.get("type"), str):
        return Foreign(f"a value of type {kind[:80]}")
    tensors = read_tensors(body)

    def leaf(kind: str, key: Any) -> Any:
        if kind == "$handle":
            if not isinstance(key, int) or isinstance(key, bool):
                raise FrameError("a handle is not a number")
            return proxy(key)
        if not isinstance(key, str) or key not in tensors:
            raise FrameError("a tensor is missing")
        return as_array(tensors[key])

    return unflatten(header.get("value"), leaf, short)


def short(number: int) -> Any:
    """Replace an integer of more than 64 bits, which may not fit into a float and would bloat messages."""
    return number if -MAX_NUMBER <= number < MAX_NUMBER else HUGE


def read_tensors(body: bytes) -> dict[str, Any]:
    """Return the entries of a body, keyed by name.

    Raises:
        FrameError: if the body is damaged or lists more tensors than a reply may have.
    """
    from safetensors import SafetensorError, deserialize

    if not body:
        return {}
    if (length := int.from_bytes(body[:8], "little")) > MAX_HEADER:
        raise FrameError(f"the list of tensors has {length} bytes, more than {MAX_HEADER}")
    try:
        return dict(deserialize(body))
    except SafetensorError as error:
        raise FrameError("the tensors are damaged") from error


def as_array(entry: dict[str, Any]) -> Any:
    """Return a tensor from a body as an array.

    Raises:
        FrameError: if no array can have this shape.
    """
    if entry["dtype"] not in DTYPES:
        return Foreign(f"a tensor of type {entry['dtype']}")
    try:
        return np.frombuffer(entry["data"], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    except ValueError as error:  # more or larger axes than NumPy supports
        raise FrameError("the shape of a tensor is impossible") from error


def read_gradients(reply: Any) -> Gradients:
    """Return the value and gradients (arrays or None) of a differentiated call; parameter gradients are named.

    Raises:
        ValueError: if the reply is something else.
    """
    if not isinstance(reply, list) or len(reply) != 3:
        raise ValueError("not three parts")
    value, inputs, parameters = reply
    if not isinstance(inputs, list) or not isinstance(parameters, list):
        raise ValueError("the gradients are not lists")
    named = {}
    for pair in parameters:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError("a gradient without a name")
        named[pair[0]] = pair[1]
    for gradient in (*inputs, *named.values()):
        if gradient is not None and not isinstance(gradient, (np.ndarray, Foreign)):
            raise ValueError("a gradient that is not a tensor")
    return Gradients(value, inputs, named)


def are_shapes(reply: Any) -> bool:
    """Whether the reply lists names and tensor shapes that together fit into the grader's memory."""
    if not isinstance(reply, list) or not all(map(_is_shape, reply)):
        return False
    return sum(math.prod(shape) for _, shape in reply) <= MAX_BODY // 4


def _is_shape(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str) or not isinstance(pair[1], list):
        return False
    return len(pair[1]) <= MAX_AXES and all(type(size) is int and 0 <= size <= MAX_BODY for size in pair[1])
