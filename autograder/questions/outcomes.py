"""The outcome of a call to a student's program: its result, how often each line runs, and the computed values.

The worker's replies are checked for their form but never trusted: a forged reply spoils only the student's own
questions. Facts are short sentences about the outcome of a changed call; facts that do not hold are used as wrong
options.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.questions.program import Place
from autograder.sandbox.call_replay import CallReplay

SAME, OTHER, VISIBLE = 1e-9, 1e-6, 1e-3  # rounding is below SAME, changes above OTHER, visible changes above VISIBLE
WEIGHTS = "attention weights"  # the name that a worker gives to the result of an operation whose rows are weights
SAME_RESULT = "The result is the same."
RAISES = "The call raises an exception."
TOLD = ("RuntimeError", "IndexError", "ValueError")  # exceptions due to shapes and values, not to meaningless code
EVERYWHERE = "Every position of the result changes."


@dataclass(frozen=True, eq=False)
class LineValue:
    """The value that one run of a statement assigned to a name or returned."""

    place: Place
    name: str  # "return" for a returned value
    shape: tuple[int, ...] | None  # of a tensor
    value: Any  # an array, or a plain value as a string; None if it is too large


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a call."""

    values: tuple[np.ndarray, ...] = ()  # the result, or the members of a returned tuple
    error: str = ""  # the type of the exception
    counts: Mapping[Place, int] = field(default_factory=dict)  # how often each line ran
    lines: tuple[LineValue, ...] = ()
    raised: Place | None = None  # the line of the student's code that raised the exception

    def values_of(self, line: LineValue) -> list[Any]:
        """All values that a line assigned to a name, one for each run of the line."""
        return [one.value for one in self.lines if (one.place, one.name) == (line.place, line.name)]


@dataclass(frozen=True, eq=False)
class Call:
    """A call, and a twin with different numbers."""

    replay: CallReplay
    twin: CallReplay
    base: Outcome  # with lines
    twin_base: Outcome
    trained: Outcome  # in train mode


def numbers_of(value: Any) -> Iterator[np.ndarray]:
    """The numbers in a result.

    Raises:
        TypeError: if it contains anything else.
    """
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(one, (list, tuple)):
            yield from numbers_of(one)
        elif one is not None:
            if not isinstance(one, (np.ndarray, bool, int, float)):
                raise TypeError("no number")
            yield np.asarray(one, np.float64)


def read_lines(record: Any) -> tuple[dict[Place, int], tuple[LineValue, ...]]:
    """The counts and values in a record; empty if the record is malformed."""
    counts, lines = {}, []
    try:
        for file, line, count in record[0]:
            counts[str(file), int(line)] = int(count)
        for file, line, name, (shape, value) in record[1]:
            plain = shape == "plain"
            sizes = None if plain else tuple(map(int, shape))
            fits = isinstance(value, str) if plain else isinstance(value, np.ndarray) and value.shape == sizes
            lines.append(LineValue((str(file), int(line)), str(name), sizes, value if fits else None))
    except (TypeError, ValueError, LookupError, OverflowError):
        return {}, ()
    return counts, tuple(lines)


def same(first: Outcome, second: Outcome) -> bool | None:
    """Whether two calls had the same outcome, or None if they differ too little for a question."""
    if first.error or second.error:
        return first.error == second.error
    if [one.shape for one in first.values] != [one.shape for one in second.values]:
        return False
    pairs = [*zip(first.values, second.values, strict=True)]
    if all(close(*one, SAME) for one in pairs):
        return True
    return None if all(close(*one, VISIBLE) for one in pairs) else False


def close(a: np.ndarray, b: np.ndarray, off: float) -> bool:
    """Whether all elements are equal within a tolerance, which is relative for large numbers."""
    return np.allclose(a, b, off, off, equal_nan=True)


def facts(before: Outcome, after: Outcome) -> tuple[str, ...]:
    """The facts about how a change affects a result, the most informative first; empty if they are uncertain."""
    if after.error:
        return (RAISES,) if after.error in TOLD else ()
    if len(before.values) != len(after.values) or not np.isfinite(before.values[0]).all():
        return ()
    base, other = before.values[0], after.values[0]
    if base.shape != other.shape:
        return (f"The result has the shape {other.shape}.",) if base.ndim > 1 else ()  # a list may hold the numbers
    if not np.isfinite(other).all():
        return ()  # the random numbers may decide which elements are infinite
    changed, doubtful = (~np.isclose(base, other, off, off) for off in (OTHER, SAME))
    if not doubtful.any():
        return (SAME_RESULT,)
    if close(base, other, VISIBLE) or (changed != doubtful).any():
        return ()
    return ("The result is a different number.",) if base.size == 1 else tuple(_regions(changed))


def _regions(changed: np.ndarray) -> Iterator[str]:
    """The part of a result that changes, in PyTorch's notation; nothing if this part has no simple form.

    The last of three axes is the feature axis. One fact names the features that change; another names the positions.
    """
    positions = np.asarray(changed.any(axis=-1)) if changed.ndim > 2 else changed
    boxes = [_box(changed), _box(positions)]
    if changed.ndim > 2 and boxes[0].count(",") == changed.ndim - 1:
        yield f"The numbers of `result[{boxes[0]}]` change; all others stay the same."
    if positions.all():
        yield EVERYWHERE
    elif boxes[1]:
        yield f"The numbers of `result[{boxes[1]}]` change; all others stay the same."


def _box(changed: np.ndarray) -> str:
    """The index of a block that contains all changes and no unchanged numbers, or "" if there is none."""
    sets = [np.unique(axis) for axis in np.nonzero(changed)]
    if not changed[np.ix_(*sets)].all():
        return ""
    texts = [_index(one.tolist(), size) for one, size in zip(sets, changed.shape, strict=True)]
    while texts and texts[-1] == ":":
        texts.pop()
    return ", ".join(texts) if all(texts) else ""


def _index(numbers: list[int], size: int) -> str:
    """The indices on an axis as a string: a number or a slice, or "" if they are neither."""
    first, last = numbers[0], numbers[-1]
    if len(numbers) in (1, size):
        return str(first) if len(numbers) < size else ":"
    step = numbers[1] - first
    if numbers != list(range(first, last + 1, step)):
        return ""
    end = "" if last + step >= size else str(last + 1)
    return f"{first or ''}:{end}" + (f":{step}" if step > 1 else "")
