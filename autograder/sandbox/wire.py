"""The wire format between the grader and a worker: framed messages of JSON and tensors, never pickle.

    magic (4 bytes) | length of the header (u32) | length of the body (u64) | header (JSON) | body (safetensors)

A value is sent as JSON. Every tensor is replaced by {"$tensor": name} and stored in the body under that name. Every
object that stays in the worker is replaced by {"$handle": number}. {"$transposed": name} is a tensor whose last two
axes are swapped in memory, {"$tuple": [...]} is a tuple, and {"$function": "module.name"} is a function in the worker
that is passed to another function. Nothing is executed on arrival.
"""

import json
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO

from autograder.sandbox.limits import MAX_BODY, MAX_DEPTH, MAX_HEADER

MAGIC = b"GRD1"
PREFIX = struct.Struct(">4sIQ")
TUPLE = "$tuple"
LEAVES = ("$tensor", "$transposed", "$handle", "$function")
CHUNK = 1 << 20  # bytes read at once
STANDIN = "standin_"
PROCESS_ID = struct.Struct(">i")  # between the grader and the warm process


class Tuple(list[Any]):
    """A list that represents a received tuple, so that messages can describe it as a tuple."""


class FrameError(Exception):
    """The received bytes are not a frame, or the frame is too large."""


def write_frame(stream: BinaryIO, header: dict[str, Any], body: bytes = b"") -> None:
    """Send one frame."""
    encoded = json.dumps(header).encode("utf-8")
    stream.write(b"".join((PREFIX.pack(MAGIC, len(encoded), len(body)), encoded, body)))
    stream.flush()


def pack_tensors(tensors: Iterable[tuple[str, str, Sequence[int], bytes]]) -> bytes:
    """Pack tensors into a body in the safetensors format; for small tensors, many times faster than the library.

    Args:
        tensors: name, type name in safetensors ("F64"), shape and elements of each.
    """
    entries, data, end = {}, [], 0
    for name, dtype, shape, elements in tensors:
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + len(elements)]}
        data.append(elements)
        end += len(elements)
    listed = json.dumps(entries).encode("utf-8")
    listed += b" " * (-len(listed) % 8)
    return b"".join((len(listed).to_bytes(8, "little"), listed, *data))


def read_frame(stream: BinaryIO, max_body: int = MAX_BODY) -> tuple[dict[str, Any], bytes]:
    """Receive one frame.

    Raises:
        EOFError: if the other side has closed the connection.
        FrameError: if the bytes are not a frame or exceed a limit.
    """
    magic, header_length, body_length = PREFIX.unpack(_read(stream, PREFIX.size))
    if magic != MAGIC:
        raise FrameError("the message does not start like a frame")
    if header_length > MAX_HEADER:
        raise FrameError(f"the header has {header_length} bytes, more than {MAX_HEADER}")
    if body_length > max_body:
        raise FrameError(f"the result has {body_length} bytes, more than {max_body}")
    try:
        header = json.loads(_read(stream, header_length))
    except (ValueError, RecursionError) as error:
        raise FrameError("the header is not JSON") from error
    if not isinstance(header, dict):
        raise FrameError("the header is not an object")
    return header, _read(stream, body_length)


def _read(stream: BinaryIO, size: int) -> bytes:
    """Read exactly `size` bytes. Memory use grows with the bytes received, not with the size that the sender claims."""
    first = stream.read(min(size, CHUNK))
    if len(first) == size:
        return first
    data = bytearray(first)
    if size and not first:
        raise EOFError
    while len(data) < size:
        chunk = stream.read(min(size - len(data), CHUNK))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def flatten(value: Any, leaf: Callable[[Any], dict[str, Any] | None], depth: int = 0) -> Any:
    """Turn a value into JSON. `leaf` returns the replacement for a tensor or an object, and None for anything else.

    Raises:
        TypeError: if the value contains something that cannot be sent.
    """
    if depth > MAX_DEPTH:
        raise TypeError("the value is nested too deeply")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if (replacement := leaf(value)) is not None:
        return replacement
    if isinstance(value, (list, tuple)):
        items = [flatten(item, leaf, depth + 1) for item in value]
        return {TUPLE: items} if isinstance(value, tuple) else items
    raise TypeError(f"a value of type {type(value).__name__} cannot be sent")


def unflatten(
    value: Any,
    leaf: Callable[[str, Any], Any],
    number: Callable[[int], Any] = int,
    depth: int = 0,
    tuples: Callable[[Iterable[Any]], Any] = Tuple,
) -> Any:
    """Rebuild a value from JSON. `leaf` is called with one of LEAVES and its name or number, `number` with an integer,
    and `tuples` with the items of a tuple.

    Raises:
        FrameError: if the JSON does not have the form that `flatten` returns.
    """
    if depth > MAX_DEPTH:
        raise FrameError("the value is nested too deeply")
    if isinstance(value, list):
        return [unflatten(item, leaf, number, depth + 1, tuples) for item in value]
    if isinstance(value, dict):
        if list(value) == [TUPLE] and isinstance(value[TUPLE], list):
            return tuples(unflatten(item, leaf, number, depth + 1, tuples) for item in value[TUPLE])
        if len(value) != 1 or next(iter(value)) not in LEAVES:
            raise FrameError("the value contains an unknown object")
        return leaf(*next(iter(value.items())))
    return number(value) if type(value) is int else value
