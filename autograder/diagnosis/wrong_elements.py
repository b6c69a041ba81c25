"""Describe what the wrong elements of a tensor share: one head, the last step, a factor, a transpose."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

# The words for an index along an axis. Other axes keep their names.
WORDS = {
    "B": "sentence",
    "H": "head",
    "T": "position",
    "max_seq_length": "position",
    "T_q": "query",
    "T_k": "key",
    "T_e": "position",
    "T_d": "position",
    "d_model": "column",
    "d_k": "column",
}


def pattern(
    axes: str,
    actual: np.ndarray,
    expected: np.ndarray,
    wrong: np.ndarray,
    counted: np.ndarray,
    limit: float,
    groups: Mapping[str, np.ndarray] | None = None,
    masked: Sequence[tuple[str, np.ndarray]] = (),
) -> str | None:
    """The most telling property that the wrong elements share, or None.

    Args:
        axes: names of the axes, "B H T_q d_k".
        actual, expected: the two tensors, of the same shape.
        wrong: True where they differ.
        counted: True where a difference counts.
        limit: the largest accepted difference.
        groups: named parts of the tensor, for instance {"sentences with padding": mask}; broadcast to its shape.
        masked: the elements affected by masks, see `masked_by`. If exactly these are wrong, no index is named.
    """
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    if not np.abs(actual[counted]).max(initial=0) > limit:
        return f"All values are {'nearly ' if actual[counted].any() else ''}zero."
    names = axes.split()
    everywhere = wrong[counted].mean() > 0.25
    finders: tuple[Callable[[], str | None], ...] = (
        lambda: _factor(actual, expected, counted, limit) if everywhere else None,
        lambda: _swapped(names, actual, expected, limit) if everywhere else None,
        lambda: _permuted(names, actual, expected, limit) if everywhere else None,
        lambda: _group(wrong, counted, groups or {}),
        lambda: _indices(names, wrong, counted, masked),
        lambda: _reordered(actual, expected, counted, limit) if everywhere else None,
        lambda: _shifted(actual, expected, counted, limit) if everywhere else None,
    )
    return next((sentence for finder in finders if (sentence := finder())), None)


def _factor(actual: np.ndarray, expected: np.ndarray, counted: np.ndarray, limit: float) -> str | None:
    x, y = expected[counted], actual[counted]
    if x.size < 2:
        return None  # any single number is some multiple of the expected one
    with np.errstate(over="ignore", invalid="ignore"):  # a wrong number may be as large as floats allow
        factor = float(x @ y / (x @ x)) if x.any() else 0.0
        fits = abs(factor) > 1e-6 and np.abs(y - factor * x).max() <= limit * max(1.0, abs(factor))
    if fits:
        return f"Every value is {factor:.4g} times the expected one."
    return None


def _shifted(actual: np.ndarray, expected: np.ndarray, counted: np.ndarray, limit: float) -> str | None:
    difference = (actual - expected)[counted]
    if difference.size > 1 and np.ptp(difference) <= limit:
        return f"Every value is off by {difference[0]:+.4g}."
    return None


def _swapped(names: list[str], actual: np.ndarray, expected: np.ndarray, limit: float) -> str | None:
    for i, j in itertools.combinations(range(actual.ndim), 2):
        if names[i] == names[j]:  # scores of pairs are symmetric: a sum over the wrong axis looks like a transpose
            continue
        if actual.shape[i] == actual.shape[j] and np.abs(actual.swapaxes(i, j) - expected).max() <= limit:
            return f"The axes {names[i]} and {names[j]} are swapped."
    return None


def _permuted(names: list[str], actual: np.ndarray, expected: np.ndarray, limit: float) -> str | None:
    for axis, name in enumerate(names):
        size = actual.shape[axis]
        if not 1 < size <= 64 or name == "B":
            continue
        got, right = np.moveaxis(actual, axis, 0).reshape(size, -1), np.moveaxis(expected, axis, 0).reshape(size, -1)
        equal = np.abs(got[:, None] - right[None, :]).max(axis=-1) <= limit  # (size, size)
        if (equal.sum(axis=0) == 1).all() and (equal.sum(axis=1) == 1).all():
            order = equal.argmax(axis=1).tolist()
            if order == list(range(size))[::-1]:
                return f"The values are reversed along {name}."
            shown = f": {', '.join(map(str, order))}" if size <= 8 else ""
            return f"The values are right but in a different order along {name}{shown}."
    return None


def _reordered(actual: np.ndarray, expected: np.ndarray, counted: np.ndarray, limit: float) -> str | None:
    if counted.all() and np.abs(np.sort(actual, axis=None) - np.sort(expected, axis=None)).max() <= limit:
        return "The values are right but in the wrong places."
    return None


def _group(wrong: np.ndarray, counted: np.ndarray, groups: Mapping[str, np.ndarray]) -> str | None:
    for name, mask in groups.items():
        group = np.broadcast_to(mask, wrong.shape) & counted
        rest = counted & ~group
        if group.any() and rest.any() and not (wrong & rest).any() and wrong[group].mean() > 0.5:
            return f"Only {name} are wrong."
    return None


def masked_by(arguments: Iterable[tuple[str, Any]]) -> list[tuple[str, np.ndarray]]:
    """The elements affected by masks among a call's arguments: ("B", sentence flags) or ("T", position flags).

    The masks explain the error if only these elements are wrong; for ("all T", flags), all of them must be wrong.

    A padding mask, or the lengths it is computed from, affects sentences with padding. An attention mask affects the
    queries that may not attend to every key. If a query may attend to only one key, wrong scores do not change its
    result, so the other queries have their own entry. If the arguments include targets (`tgt`), there is also a causal
    mask.
    """
    affected = []
    for name, value in arguments:
        if not isinstance(value, np.ndarray):
            continue
        if name.endswith("mask") and value.ndim > 1:
            masks_any = (value != 0).any(axis=-1)  # (B,), or (1 or B, T_q)
            affected.append(("B", masks_any.reshape(len(masks_any), -1).any(axis=-1)))
            if masks_any.ndim > 1:
                several = ((value == 0).sum(axis=-1) > 1).any(axis=0)
                affected += [("T", masks_any.any(axis=0)), ("all T", several)]
        elif value.ndim == 1 and value.size > 1 and value.dtype.kind == "i":  # lengths
            affected.append(("B", value < value.max()))
        elif name == "tgt":
            positions = np.arange(value.shape[-1])
            affected += [("T", positions < len(positions) - 1), ("all T", positions > 0)]
    return affected


def _indices(
    names: list[str], wrong: np.ndarray, counted: np.ndarray, masked: Sequence[tuple[str, np.ndarray]]
) -> str | None:
    """A sentence that names the wrong or the right indices along one axis, if they form a simple pattern."""
    for axis, name in enumerate(names):
        others = tuple(other for other in range(wrong.ndim) if other != axis)
        bad, usable = np.asarray(wrong.any(axis=others)), np.asarray(counted.any(axis=others))
        indices, size = np.flatnonzero(bad), int(usable.sum())
        concerned = [(kind, flags) for kind, flags in masked if kind[-1] == name[0] and len(flags) == len(bad)]
        if not 0 < len(indices) < size or any(
            np.array_equal(bad, flags) if kind.startswith("all") else flags[indices].all() and not flags.all()
            for kind, flags in concerned
        ):
            continue
        word = WORDS.get(name, name)
        last = int(np.flatnonzero(usable)[-1])
        right = [index for index in np.flatnonzero(usable).tolist() if not bad[index]]
        # With masks, a pattern such as every other sentence, or a middle one, is a coincidence.
        chance = bool(concerned)
        if not chance and len(indices) > 2 and (indices % 2 == indices[0] % 2).all() and len(indices) >= size // 2:
            return f"Only the {'odd' if indices[0] % 2 else 'even'} {word}s are wrong (counted from 0)."
        if len(indices) == 1:
            position = {0: "first", last: "last"}.get(int(indices[0]))
            if position or not chance:
                return (
                    f"Only the {position} {word} is wrong." if position else f"Only {word} {int(indices[0])} is wrong."
                )
        if len(right) == 1 and wrong.sum() > 0.5 * counted.sum(axis=others)[indices].sum():  # else it may be chance
            position = {0: "first", last: "last"}.get(right[0])
            if position or not chance:
                return f"Only the {position} {word} is right." if position else f"Only {word} {right[0]} is right."
        mostly = wrong.sum(axis=others)[indices] > 0.8 * counted.sum(axis=others)[indices]
        if mostly.all() and (np.diff(indices) == 1).all() and (indices[0] == 0 or indices[-1] == last):
            side = f"from {word} {int(indices[0])} on" if indices[-1] == last else f"up to {word} {int(indices[-1])}"
            return f"The values are wrong {side} and right elsewhere."
    return None
