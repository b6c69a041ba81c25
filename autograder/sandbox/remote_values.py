"""What goes to a worker and comes back, beside arrays: code, gradients, and what is no array at all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.sandbox.wire import pack_tensors

DTYPES: dict[str, Any] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
MODULE = "an nn.Module"  # what a message calls an object
SHOWN = 80  # items or characters of an argument in a message
_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def as_bytes(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    """What the wire needs of an array: the name of its type in safetensors, its shape, its elements."""
    return _NAMES[array.dtype], array.shape, array.tobytes()


def body_of(tensors: Mapping[str, np.ndarray]) -> bytes:
    """The body of a frame with these arrays."""
    return pack_tensors((name, *as_bytes(array)) for name, array in tensors.items()) if tensors else b""


@dataclass(frozen=True)
class Foreign:
    """Something that came back and is no array: a tensor of an unusual type, or no tensor at all."""

    description: str


@dataclass(frozen=True)
class Gradients:
    """What differentiating a call gave: the value, and gradients of floating-point arguments and of parameters."""

    value: Any
    inputs: list[Any]
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Code:
    """The source texts of a submission and what takes the place of the parts that are not graded now."""

    sources: dict[str, str]  # the student's modules and the stand-ins of the others
    replace: dict[str, list[str]]  # module -> "function" or "Class.method" of its stand-in, also where it is lent
    modules: tuple[str, ...]  # the student's modules, in the order of import
    unreadable: dict[str, str] = field(default_factory=dict)  # module -> why there is no source text
    reported: dict[str, str] = field(default_factory=dict)  # module -> stage that reports its failed import
    lent: dict[str, str] = field(default_factory=dict)  # module -> the student's text, for what its stand-in lacks
    withheld: dict[str, str] = field(default_factory=dict)  # module -> why the student's text must not be run
    locked: dict[str, list[str]] = field(default_factory=dict)  # module -> what of its stand-in `graded` does without
    graded: tuple[tuple[str, str], ...] = ()  # (module, "function" or "Class.method") that the stage has students write
    forbids: tuple[str, ...] = ()  # parts of torch that the stage must not use
    allows: tuple[str, ...] = ()  # parts of torch that it may, although others may not


class Named:
    """What stands for something in a worker has a name for messages."""

    _name: str


def shown(value: Any) -> str:
    """An argument as a message shows it: a tensor by its shape."""
    if isinstance(value, np.ndarray):
        return str(tuple(value.shape)).replace(" ", "")  # which no line break divides
    if isinstance(value, Named):
        return value._name
    if not isinstance(value, (list, tuple)):
        return repr(value)[:SHOWN]
    items = [shown(item) for item in value[:SHOWN]]
    words = ", ".join([*items, "..."] if len(value) > len(items) else items)
    return f"({words}{',' * (len(items) == 1)})" if type(value) is tuple else f"[{words}]"
