"""Short signatures of tensors, by which one is known again whatever its name is and wherever it was made."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from autograder.worker.tracing.signature_weights import BLOCK, PRIME, STEPS, WEIGHTS

COLUMNS = 8  # of a signature
WHOLE = 1 << 19  # elements; of a larger tensor a part is looked at
NESTED = 4  # lists in lists
LARGE = 1e30
SIGN, TWO = np.uint32(1 << 31), np.float32(2)


def signature(tensor: torch.Tensor) -> tuple[float, ...]:
    """Eight numbers: four means that do not depend on the order of the elements, how many there are, two means that do
    depend on it, and one for the shape.

    The elements are squeezed into (-1, 1) first, like x / (1 + |x|), so that -inf, -1e9 and the lowest number of a type
    all count as -1; near zero like the root of |x|, so that small numbers, as variances, differ. Axes of size 1 have no
    part in it. NaN counts as 0.5. A tensor on "meta" has no elements: eight times NaN.
    """
    return looked_at(tensor)[0]


def looked_at(tensor: torch.Tensor) -> tuple[tuple[float, ...], bool]:
    """The signature of a tensor, and whether it holds NaN."""
    if tensor.is_meta:  # to ask torch would load its compiler, which takes seconds
        return (float("nan"),) * COLUMNS, False
    shape = 0
    for size in tensor.shape:
        shape = shape if size == 1 else (shape * 1009 + size) % PRIME
    with torch._C.DisableTorchFunction(), torch.no_grad():
        x = tensor.detach().as_subclass(torch.Tensor)
        x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
        x = (x.float() if x.dtype == torch.bfloat16 else x).reshape(-1)
        elements = x.resolve_neg().numpy()
    if not len(elements):
        return (0.0,) * COLUMNS, False
    if len(elements) > WHOLE:
        elements = elements[:: len(elements) // WHOLE + 1]
    found = _means(elements)
    nan = False
    if np.isnan(found[0]):  # it holds NaN, or numbers that are too large
        nan = bool(np.isnan(elements).any())
        found = _means(np.clip(np.nan_to_num(elements.astype(np.float64), nan=0.5), -LARGE, LARGE))
    return (*found[:4], tensor.numel() % PRIME / PRIME, *found[4:], shape / PRIME), nan


def _means(elements: np.ndarray) -> list[float]:
    """The means of some elements; NaN if one of them is NaN or too large. Block by block, which stays in the cache."""
    n, sums = len(elements), [0.0] * 6
    with np.errstate(all="ignore"):
        for number, start in enumerate(range(0, n, BLOCK)):
            x = elements[start : start + BLOCK].astype(np.float32)
            size = np.abs(x)
            size += np.sqrt(size)
            size /= size + TWO
            bits = size.view(np.uint32)
            bits |= x.view(np.uint32) & SIGN
            first = size.astype(np.float64)
            second = first * first
            mean = first.sum()
            found = [mean, first @ first, second @ first, second @ second]
            # Blocks that are exchanged count otherwise, too.
            found += [
                row[: len(x)] @ first + number * step % 1 * mean for row, step in zip(WEIGHTS, STEPS, strict=True)
            ]
            sums = [one + more for one, more in zip(sums, found, strict=True)]
    return [float(one) / n for one in sums]


def signed(value: Any) -> list[list[Any]]:
    """The signature and the shape of each tensor of a result, or of the number, text or list that it is, and whether
    it is of fractions."""
    from autograder.worker.tracing.traced_values import Series, plain

    found = [[list(signature(one)), list(one.shape), one.is_floating_point()] for one in tensors_in(value)]
    if not plain(value):
        return found
    numbers = value if isinstance(value, (list, tuple)) else [value]
    return [*found, [list(Series().of(value)), [], any(isinstance(one, float) for one in numbers)]]


def tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """The tensors in a value, in nested lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < NESTED and isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item, depth + 1)
    elif depth < NESTED and isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item, depth + 1)
