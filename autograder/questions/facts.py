"""What can be said of the result of a changed call, compared with that of the unchanged one.

A fact is a short sentence that is true or false. Which facts hold is computed from the two results; two facts that may
hold at the same time are never options of one question, since a wrong option has to be a fact that does not hold.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograder.questions.runs import OTHER, SAME, Outcome, deviation

SAME_RESULT = "The result is the same."
RAISES = "The call raises an exception."
EVERYWHERE = "Every position of the result changes."


def facts(base: Outcome, other: Outcome) -> tuple[str, ...]:
    """The facts that hold, the most telling first; none if it is not clear what holds."""
    if other.error:
        return (RAISES,) if other.error not in ("no answer", "not made") else ()
    if not base.ok or not other.ok:
        return ()
    if base.several != other.several or len(base.values) != len(other.values):
        return ("Another number of values is returned.",)
    if base.several:
        return _of_several(base, other)
    return _of_one(np.asarray(base.values[0]), np.asarray(other.values[0]))


def _of_several(base: Outcome, other: Outcome) -> tuple[str, ...]:
    pairs = list(zip(base.values, other.values, strict=True))
    if any(np.shape(a) != np.shape(b) for a, b in pairs):
        changed = [at for at, (a, b) in enumerate(pairs) if np.shape(a) != np.shape(b)]
        return (f"`{_members(changed)}` of the returned values {_has(changed)} another shape.",)
    off = [deviation(a, b) for a, b in pairs]
    if any(SAME < one < OTHER for one in off):
        return ()
    changed = [at for at, one in enumerate(off) if one >= OTHER]
    if not changed:
        return (SAME_RESULT,)
    if len(changed) == len(pairs):
        return ("All returned values change.",)
    return (f"Of the returned values only `{_members(changed)}` {'changes' if len(changed) == 1 else 'change'}.",)


def _has(changed: list[int]) -> str:
    return "has" if len(changed) == 1 else "have"


def _members(numbers: list[int]) -> str:
    return ", ".join(f"result[{number}]" for number in numbers)


def _of_one(base: np.ndarray, other: np.ndarray) -> tuple[str, ...]:
    if base.shape != other.shape:
        return (f"The result has the shape {shape_text(other.shape)}.",)
    if np.isfinite(base).all() and not np.isfinite(other).all():
        return ("The result holds NaN or infinite numbers.",)
    with np.errstate(invalid="ignore"):
        off = np.nan_to_num(np.abs(base - other), nan=0.0, posinf=1e9) / np.maximum(1, np.abs(np.nan_to_num(base)))
    if ((off > SAME) & (off < OTHER)).any():
        return ()
    changed: Any = off >= OTHER
    if not changed.any():
        return (SAME_RESULT,)
    if base.size == 1:
        return ("The result is larger.",) if float(other.sum()) > float(base.sum()) else ("The result is smaller.",)
    found: list[str] = []
    whole = base[np.isfinite(base)]
    if deviation(np.sort(base, axis=None), np.sort(other, axis=None)) <= SAME:
        found.append("The result holds the same numbers in a different order.")
    nonzero = np.abs(base) > 1e-6
    if whole.size == base.size and nonzero.sum() > 3:
        factors = other[nonzero] / base[nonzero]
        if np.ptp(factors) < 1e-6 * abs(factors[0]) and not np.abs(other[~nonzero]).max(initial=0) > 1e-6:
            found.append("All numbers of the result are multiplied by one and the same factor.")
    if np.isfinite(base).all() and np.isfinite(other).all() and np.ptp(other - base) < 1e-6:
        found.append("One and the same number is added to all numbers of the result.")
    return (*found, *regions(changed))


def regions(changed: np.ndarray) -> Iterator[str]:
    """Which part of a result changes, in the notation of PyTorch; nothing if this has no simple form.

    The last of three axes holds features. That some of them change is one fact, that their positions change another.
    """
    positions = np.asarray(changed.any(axis=-1)) if changed.ndim > 2 else changed
    box = _box(changed)
    if changed.ndim > 2 and box.count(",") == changed.ndim - 1:
        yield _only(box)
    if positions.all():
        yield EVERYWHERE
    elif box := _box(positions):
        yield _only(box)


def _only(index: str) -> str:
    return f"The numbers of `result[{index}]` change, all others stay."


def _box(changed: np.ndarray) -> str:
    """The index of a block in which all changes and outside of which nothing does, or ""."""
    sets = [
        np.flatnonzero(changed.any(axis=tuple(x for x in range(changed.ndim) if x != axis)))
        for axis in range(changed.ndim)
    ]
    if not all(len(one) for one in sets) or not changed[np.ix_(*sets)].all():
        return ""
    texts = [_index(one.tolist(), size) for one, size in zip(sets, changed.shape, strict=True)]
    if not all(texts):
        return ""
    while texts and texts[-1] == ":":
        texts.pop()
    return ", ".join(texts)


def _index(numbers: list[int], size: int) -> str:
    """The indices of an axis: one, a slice, or "" if it is neither."""
    first, last = numbers[0], numbers[-1]
    if len(numbers) == size:
        return ":"
    if len(numbers) == 1:
        return str(first)
    step = numbers[1] - first
    if numbers != list(range(first, last + 1, step)):
        return ""
    end = "" if last + step >= size else str(last + 1)
    return f"{first or ''}:{end}" + (f":{step}" if step > 1 else "")


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as PyTorch shows it."""
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def is_nice(value: float) -> bool:
    """Whether a number can be computed by hand: at most two digits behind the point."""
    value = float(value)
    return math.isfinite(value) and abs(value) < 1000 and abs(value - round(value, 2)) < 5e-5


def number_text(value: float) -> str:
    """A number as an option shows it."""
    return f"{round(value, 2) + 0.0:g}"
