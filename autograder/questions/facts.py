"""What can be said of the result of a changed call, compared with that of the unchanged one.

A fact is a short sentence that is true or false. Which facts hold is computed from the two results; two facts that may
hold at the same time are never options of one question, since a wrong option has to be a fact that does not hold.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from autograder.questions.runs import OTHER, SAME, UNMADE, Outcome, deviation

SAME_RESULT = "The result is the same."
RAISES = "The call raises an exception."
EVERYWHERE = "Every position of the result changes."


def facts(base: Outcome, other: Outcome) -> tuple[str, ...]:
    """The facts that hold, the most telling first; none if it is not clear what holds."""
    if other.error:
        return (RAISES,) if other.error not in UNMADE else ()
    if not base.ok or not other.ok:
        return ()
    if base.several != other.several or len(base.values) != len(other.values):
        return ("Another number of values is returned.",)
    if base.several:
        return _of_several(base, other)
    return _of_one(np.asarray(base.values[0]), np.asarray(other.values[0]))


def _of_several(base: Outcome, other: Outcome) -> tuple[str, ...]:
    pairs = list(zip(base.values, other.values, strict=True))
    if shapes := [at for at, (a, b) in enumerate(pairs) if np.shape(a) != np.shape(b)]:
        return (f"{_members(shapes)} of the returned values {'has' if len(shapes) == 1 else 'have'} another shape.",)
    off = [deviation(a, b) for a, b in pairs]
    changed = [at for at, one in enumerate(off) if one >= OTHER]
    if any(SAME < one < OTHER for one in off):
        return ()
    if not changed:
        return (SAME_RESULT,)
    if len(changed) == len(pairs):
        return ("All returned values change.",)
    return (f"Of the returned values only {_members(changed)} {'changes' if len(changed) == 1 else 'change'}.",)


def _members(numbers: Sequence[int]) -> str:
    return f"`{', '.join(f'result[{number}]' for number in numbers)}`"


def _of_one(base: np.ndarray, other: np.ndarray) -> tuple[str, ...]:
    if base.shape != other.shape:
        return (f"The result has the shape {shape_text(other.shape)}.",)
    finite = bool(np.isfinite(base).all())
    if finite and not np.isfinite(other).all():
        return ("The result holds NaN or infinite numbers.",)
    with np.errstate(invalid="ignore"):
        off = np.nan_to_num(np.abs(base - other), nan=0.0, posinf=1e9) / np.maximum(1, np.abs(np.nan_to_num(base)))
    changed = np.asarray(off >= OTHER)
    if ((off > SAME) & ~changed).any():
        return ()
    if not changed.any():
        return (SAME_RESULT,)
    if base.size == 1:
        return ("The result is larger.",) if float(other.sum()) > float(base.sum()) else ("The result is smaller.",)
    found: list[str] = []
    if deviation(np.sort(base, axis=None), np.sort(other, axis=None)) <= SAME:
        found.append("The result holds the same numbers in a different order.")
    nonzero = np.abs(base) > 1e-6
    if finite and nonzero.sum() > 3 and not np.abs(other[~nonzero]).max(initial=0) > 1e-6:
        factors = other[nonzero] / base[nonzero]
        if np.ptp(factors) < 1e-6 * abs(factors[0]):
            found.append("All numbers of the result are multiplied by one and the same factor.")
    if finite and np.isfinite(other).all() and np.ptp(other - base) < 1e-6:
        found.append("One and the same number is added to all numbers of the result.")
    return (*found, *_regions(changed))


def _regions(changed: np.ndarray) -> Iterator[str]:
    """Which part of a result changes, in the notation of PyTorch; nothing if this has no simple form.

    The last of three axes holds features. That some of them change is one fact, that their positions change another.
    """
    positions = np.asarray(changed.any(axis=-1)) if changed.ndim > 2 else changed
    boxes = [_box(changed), _box(positions)]
    if changed.ndim > 2 and boxes[0].count(",") == changed.ndim - 1:
        yield f"The numbers of `result[{boxes[0]}]` change, all others stay."
    if positions.all():
        yield EVERYWHERE
    elif boxes[1]:
        yield f"The numbers of `result[{boxes[1]}]` change, all others stay."


def _box(changed: np.ndarray) -> str:
    """The index of a block in which all changes and outside of which nothing does, or ""."""
    sets = [np.unique(axis) for axis in np.nonzero(changed)]
    if not changed[np.ix_(*sets)].all():
        return ""
    texts = [_index(one.tolist(), size) for one, size in zip(sets, changed.shape, strict=True)]
    while texts and texts[-1] == ":":
        texts.pop()
    return ", ".join(texts) if all(texts) else ""


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
