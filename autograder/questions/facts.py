"""Statements about the result of a changed call, compared with that of the unchanged call.

A fact is a short sentence that is true or false. Which facts hold is computed from the two results. A wrong option
must be a fact that does not hold, so two facts that may hold at the same time are never options of one question.
"""

from collections.abc import Iterator

import numpy as np

from autograder.questions.calls import shape_text
from autograder.questions.runs import OTHER, SAME, VISIBLE, Outcome, close

SAME_RESULT = "The result is the same."
RAISES = "The call raises an exception."
TOLD = ("RuntimeError", "IndexError", "ValueError")  # exceptions due to shapes and values, not to meaningless code
EVERYWHERE = "Every position of the result changes."


def facts(before: Outcome, after: Outcome) -> tuple[str, ...]:
    """The facts that hold for the first value, the most informative first; none if that is not clear."""
    if after.error:
        return (RAISES,) if after.error in TOLD else ()
    if len(before.values) != len(after.values):
        return ()
    base, other = before.values[0], after.values[0]
    if base.shape != other.shape:
        return (f"The result has the shape {shape_text(other.shape)}.",)
    if not np.isfinite(base).all():
        return ()
    if not np.isfinite(other).all():
        return ("The result holds NaN or infinite numbers.",)
    changed, doubtful = (~np.isclose(base, other, off, off) for off in (OTHER, SAME))
    if not doubtful.any():
        return (SAME_RESULT,)
    if close(base, other, VISIBLE) or (changed != doubtful).any():
        return ()
    if base.size == 1:
        return ("The result is larger.",) if other.sum() > base.sum() else ("The result is smaller.",)
    return tuple(_regions(changed))


def _regions(changed: np.ndarray) -> Iterator[str]:
    """The part of a result that changes, in PyTorch's notation; nothing if it has no simple form.

    The last of three axes is the feature axis. One fact says which of them change, another which positions.
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
    """The index of a block in which everything changes, and outside of which nothing does, or ""."""
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
