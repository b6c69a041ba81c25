"""Values other than arrays that are exchanged with a worker: code, gradients and unusual results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from autograder.sandbox.student_faults import StudentFault
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
MODULE = "an nn.Module"  # the description of an object in messages
SHOWN = 80  # items or characters of an argument in a message
_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def as_bytes(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    """Return the parts of an array that are sent: its type's safetensors name, its shape and its elements."""
    return _NAMES[array.dtype], array.shape, array.tobytes()


def body_of(tensors: Mapping[str, np.ndarray]) -> bytes:
    """Return a frame body that contains these arrays."""
    return pack_tensors((name, *as_bytes(array)) for name, array in tensors.items()) if tensors else b""


@dataclass(frozen=True, repr=False)
class Foreign:
    """A returned value that is not an array: a tensor of an unusual type, or not a tensor at all.

    If a test uses the value as a list or tuple, the test fails with a message that describes the value.
    """

    description: str

    def __repr__(self) -> str:
        return self.description

    def _no_list(self, *_: Any) -> NoReturn:
        raise StudentFault(f"a list or tuple should be returned, not {self.description}")

    __getitem__ = __iter__ = __len__ = _no_list


@dataclass(frozen=True)
class Gradients:
    """The result of a differentiated call: its value, and the gradients of its arguments and parameters."""

    value: Any
    inputs: list[Any]
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Code:
    """The source code of a submission, and the replacements for parts that are not being graded."""

    sources: dict[str, str]  # the student's modules, and stand-ins for the others
    replace: dict[str, list[str]]  # module -> "function" or "Class.method" to take from its stand-in, even if lent
    modules: tuple[str, ...]  # the student's modules, in import order
    unreadable: dict[str, str] = field(default_factory=dict)  # module -> why it has no source code
    reported: dict[str, str] = field(default_factory=dict)  # module -> stage that reports its failed import
    lent: dict[str, str] = field(default_factory=dict)  # module -> the student's code, for names the stand-in lacks
    withheld: dict[str, str] = field(default_factory=dict)  # module -> why the student's code must not run
    locked: dict[str, list[str]] = field(default_factory=dict)  # module -> names of its stand-in hidden from `graded`
    graded: tuple[tuple[str, str], ...] = ()  # (module, "function" or "Class.method") that students write in this stage
    forbids: tuple[str, ...] = ()  # parts of torch that are forbidden in this stage
    allows: tuple[str, ...] = ()  # parts of torch that are allowed here, though not elsewhere


class Named:
    """The base class of proxies for objects in a worker; the name is used in messages."""

    _name: str


def shown(value: Any) -> str:
    """Format an argument for a message; a tensor is shown as its shape."""
    if isinstance(value, np.ndarray):
        return str(tuple(value.shape)).replace(" ", "")  # no spaces, so no line break splits it
    if isinstance(value, Named):
        return value._name
    if not isinstance(value, (list, tuple)):
        words = repr(value)
        return words if len(words) <= SHOWN else f"{words[: SHOWN - 2]}…{words[-1]}"
    items = [shown(item) for item in value[:SHOWN]]
    words = ", ".join([*items, "..."] if len(value) > len(items) else items)
    return f"({words}{',' * (len(items) == 1)})" if type(value) is tuple else f"[{words}]"
