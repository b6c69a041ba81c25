"""Compare a student's tensor with the expected one: type, shape, dtype, finiteness, values, in that order.

Values are compared element by element with an absolute tolerance. The sum of differences, which many courses use, grows
with the size of the tensor and can reject correct code on a different processor.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.diagnosis.wrong_elements import pattern
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.remote_values import MODULE, Foreign, Named

# The largest accepted deviation. Correct code deviates far less, every known mistake far more.
LIMITS = {"float64": 1e-4, "float32": 1e-3}
# Correct code may compute in float32, which has seven digits: values may differ by this fraction of the largest one.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Wrong:
    """A description of the error in a tensor: a sentence, and lines with the position and the values."""

    message: str
    details: tuple[str, ...] = ()
    short: str = ""  # the details in one line


class Incorrect(AssertionError):
    """The student's code returned a wrong result.

    `actual` is the wrong tensor, and `where` marks the elements that count. These two are used to recognise known
    mistakes. `expected` and the names of its axes are set if the two tensors can be compared element by element.
    `recipe` describes how to repeat the call. `made_by` lists the submodules whose outputs the message is about, and
    `operation` is the operation that is, or should be, applied to them. `changes` is the argument that the call wrongly
    changes in place. `smaller` runs and checks a smaller call with the same fault. `minor` means that the error is only
    a side effect, and that the result of the call is correct.
    """

    minor = False
    recipe: CallReplay | None = None
    smaller: Callable[[], object] | None = None

    def __init__(
        self,
        wrong: Wrong,
        call: str,
        actual: Any = None,
        where: np.ndarray | None = None,
        expected: np.ndarray | None = None,
        axes: str = "",
        made_by: Sequence[str] = (),
        operation: str = "",
        changes: str = "",
    ) -> None:
        super().__init__(wrong.message)
        self.wrong, self.call, self.actual, self.where = wrong, call, actual, where
        self.expected, self.axes = expected, axes
        self.made_by, self.operation, self.changes = made_by, operation, changes


def compare(
    name: str,
    axes: str,
    actual: Any,
    expected: np.ndarray,
    limit: float,
    where: np.ndarray | None = None,
    groups: Mapping[str, np.ndarray] | None = None,
    masked: Callable[[], Sequence[tuple[str, np.ndarray]]] = lambda: (),
) -> Wrong | None:
    """Return the first error found in `actual`, or None if it is correct.

    Args:
        name: what the student calls the tensor.
        axes: the names of its axes, for instance "B H T_q d_k".
        actual: what the student's code returned.
        expected: the correct values.
        limit: the largest accepted absolute difference.
        where: True for the elements that count (for instance, without padding); broadcast to the shape of `expected`.
        groups, masked: named parts of the tensor, and the elements affected by masks; for `pattern`.

    Raises:
        ValueError: if an expected value that counts is not finite: no difference from it could exceed the limit.
    """
    if _is_close(actual, expected, limit, where):
        return None
    floating = bool(np.issubdtype(expected.dtype, np.floating))
    counted = np.broadcast_to(np.True_ if where is None else where, expected.shape)
    if floating and not np.isfinite(expected[counted]).all():
        raise ValueError(f"the expected value of {name} is not finite")
    if wrong := wrong_form(name, axes, actual, expected.shape, floating, counted):
        return wrong
    with np.errstate(over="ignore", invalid="ignore"):  # invalid: two infinite elements, which do not count
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    differs = (difference > limit) & counted
    if not differs.any():
        return None
    first = _first(differs)
    common = pattern(axes, actual, expected, differs, counted, limit, groups, masked())
    return Wrong(
        _said(name, "right shape, wrong values"),
        (
            f"{_differ(differs, counted)}, first at {_place(axes, first)}" if expected.ndim else "the value differs",
            f"expected  {_number(expected[first])}",
            f"got       {_number(actual[first])}",
            *((common,) if common else ()),
            *((f"largest difference {difference[counted].max():.2g} (tolerance {limit:g})",) if floating else ()),
        ),
        f"{_differ(differs, counted, name)}{f' (tolerance {limit:g})' if floating else ''}"
        if expected.ndim
        else f"expected {_number(expected[first])}, got {_number(actual[first])}",
    )


def compare_own(
    name: str,
    axes: str,
    actual: Any,
    other: Any,
    limit: float,
    where: np.ndarray | None = None,
    masked: Callable[[], Sequence[tuple[str, np.ndarray]]] = lambda: (),
) -> Wrong | None:
    """Compare two results of the student's code, using the second as the expected values.

    The second result must therefore be a tensor of finite numbers.
    """
    shape = other.shape if isinstance(other, np.ndarray) else ()
    try:
        counted = np.broadcast_to(np.True_ if where is None else where, shape)
    except ValueError:  # its shape does not fit the mask of counted elements
        return Wrong(_said(name, "wrong shape"), (f"got       {_shape(shape)}",))
    if isinstance(actual, np.ndarray) and actual.ndim == len(shape) != len(axes.split()):
        # Both are the student's results, so the number of axes has not been checked yet.
        close = isinstance(other, np.ndarray) and _is_close(actual, other, limit, where)
        return None if close else Wrong(_said(name, "wrong shape"), (f"got       {_shape(shape)}",))
    if wrong := wrong_form(name, axes, other, shape, floating=True, counted=counted):
        return wrong
    return compare(name, axes, actual, other, limit, where, masked=masked)


def _is_close(actual: Any, expected: np.ndarray, limit: float, where: np.ndarray | None) -> bool:
    """Check quickly whether floating-point numbers are correct; if so, no further checks are needed."""
    if not isinstance(actual, np.ndarray) or actual.dtype not in (np.float64, np.float32):
        return False
    if expected.dtype.kind != "f" or actual.shape != expected.shape:
        return False
    with np.errstate(all="ignore"):
        difference = np.abs(actual - expected)
    return bool(difference.max(initial=0, where=True if where is None else where) <= limit)  # also False for NaN


def limit_for(expected: np.ndarray, limit: float) -> float:
    """The largest accepted deviation for these values: the given limit, or more if they are large."""
    with np.errstate(invalid="ignore"):
        largest = float(np.abs(expected).max(initial=0)) if expected.dtype.kind == "f" else 0.0
    return max(limit, ROUNDING * largest) if np.isfinite(largest) else limit


def is_infinite(error: object) -> bool:
    """Whether a wrong result contains infinity or NaN."""
    actual = getattr(error, "actual", None)
    return isinstance(actual, np.ndarray) and actual.dtype.kind == "f" and not bool(np.isfinite(actual).all())


def deviation(actual: np.ndarray, expected: np.ndarray, where: np.ndarray | None = None) -> float:
    """The largest absolute difference between elements that count; infinity if it is not finite."""
    counted = np.broadcast_to(np.True_ if where is None else where, expected.shape)
    with np.errstate(invalid="ignore"):  # two infinite elements
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))[counted]
    return float(np.nan_to_num(difference, nan=np.inf).max(initial=0))


def wrong_form(
    name: str,
    axes: str,
    actual: Any,
    shape: tuple[int, ...],
    floating: bool,
    counted: np.ndarray | None = None,
) -> Wrong | None:
    """Check everything except the values: type, shape, dtype, finiteness."""
    expected = f"expected  {_shape(shape)}, which is ({axes.replace(' ', ', ')})"
    if actual is None:
        return Wrong(
            f"{name} is None instead of a tensor", (expected, "Is it not computed, or not returned, for these inputs?")
        )
    if not isinstance(actual, np.ndarray):
        got = actual.description if isinstance(actual, Foreign) else f"a value of type {type(actual).__name__.lower()}"
        got = MODULE if isinstance(actual, Named) else got
        kind = "dtype" if got.startswith("a tensor") else "type"
        return Wrong(_said(name, f"wrong {kind}"), (f"expected  a tensor, {expected[10:]}", f"got       {got}"))
    if actual.shape != shape:
        short = f"expected {_shape(shape)}, got {_shape(actual.shape)}"
        return Wrong(_said(name, "wrong shape"), (expected, f"got       {_shape(actual.shape)}"), short)
    if floating and actual.dtype not in (np.float64, np.float32):
        return _wrong_dtype(name, "the floating-point type of the inputs", actual)
    if not floating and np.issubdtype(actual.dtype, np.floating):
        return _wrong_dtype(name, "integers", actual)
    counted = np.ones(shape, dtype=bool) if counted is None else counted
    infinite = ~np.isfinite(actual) & counted
    if infinite.any():
        first = _first(infinite)
        kind = "NaN" if np.isnan(actual[first]) else "infinity"
        count = _count(infinite, counted)
        return Wrong(
            _said(name, f"contains {kind}"), (f"in {count}, first at {_place(axes, first)}",), f"{kind} in {count}"
        )
    return None


def _wrong_dtype(name: str, wanted: str, actual: np.ndarray) -> Wrong:
    details = (f"expected  {wanted}", f"got       {actual.dtype}")
    return Wrong(_said(name, "wrong dtype"), details, f"expected {wanted}, got {actual.dtype}")


def _said(name: str, wrong: str) -> str:
    """Format a message about a tensor; its name may be a longer description that ends with a comma."""
    return f"{name.rstrip(',')}: {wrong}"


def _first(mask: np.ndarray) -> tuple[int, ...]:
    return tuple(int(axis_index) for axis_index in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _place(axes: str, index: tuple[int, ...]) -> str:
    """Format an index with axis names: "[B=0, H=1, T_q=3, d_k=0]"; axes of size 1 are left out."""
    names = axes.split()
    if len(names) != len(index):  # one of the student's results compared with another
        names = [f"axis_{number}" for number in range(len(index))]
    named = zip(names, index, strict=True)
    return "[" + ", ".join(f"{name}={position}" for name, position in named if name != "1") + "]"


def _count(wrong: np.ndarray, counted: np.ndarray, name: str = "") -> str:
    total, bad = int(counted.sum()), int(wrong.sum())
    of_name = f" of {name}" if name else ""
    if total == 1:
        return f"the element{of_name}"
    return f"all {total:,} elements{of_name}" if bad == total else f"{bad:,} of {total:,} elements{of_name}"


def _differ(wrong: np.ndarray, counted: np.ndarray, name: str = "") -> str:
    """Format the number of wrong elements, followed by a verb."""
    return f"{_count(wrong, counted, name)} {'differs' if int(wrong.sum()) == 1 else 'differ'}"


def _shape(shape: tuple[int, ...]) -> str:
    return str(tuple(int(size) for size in shape))


def _number(value: Any) -> str:
    """Format a number; an element of a mask becomes 1 or 0."""
    return f"{value:.6g}" if np.issubdtype(type(value), np.floating) else str(int(value))
