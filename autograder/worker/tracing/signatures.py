"""Short signatures that identify tensors, regardless of their names and where they were computed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from autograder.worker.tracing.signature_weights import BLOCK, COLUMNS, PRIME, STEPS, WEIGHTS
from autograder.worker.tracing.traced_values import Series, plain

WHOLE = 1 << 19  # elements; a larger tensor is subsampled
NESTED = 4  # levels of nested lists
LARGE = 1e30
SIGN, TWO = np.uint32(1 << 31), np.float32(2)


def signature(tensor: torch.Tensor) -> tuple[float, ...]:
    """Return eight numbers that identify a tensor.

    The first four are means that ignore the order of the elements; the fifth is the number of elements. Two more means
    depend on the order, and the last number identifies the shape.

    The elements are first squeezed into (-1, 1), like x / (1 + |x|). So -inf, -1e9 and the lowest number of a data type
    all count as -1. Near zero, the map behaves like sqrt(|x|), so that small numbers, such as variances, differ. Axes
    of size 1 are ignored. NaN counts as 0.5. A tensor on the "meta" device has no data, so the result is eight NaNs.
    """
    return looked_at(tensor)[0]


def looked_at(tensor: torch.Tensor) -> tuple[tuple[float, ...], bool]:
    """Return the signature of a tensor, and whether it contains NaN."""
    if tensor.is_meta:  # torch would load its compiler to compute one, which takes seconds
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
    means = _means(elements)
    nan = False
    if np.isnan(means[0]):  # it contains NaN, or numbers that are too large
        nan = bool(np.isnan(elements).any())
        means = _means(np.clip(np.nan_to_num(elements.astype(np.float64), nan=0.5), -LARGE, LARGE))
    return (*means[:4], tensor.numel() % PRIME / PRIME, *means[4:], shape / PRIME), nan


def _means(elements: np.ndarray) -> list[float]:
    """Return the means of some elements; NaN if any of them is NaN or too large.

    The elements are processed in blocks that fit into the cache.
    """
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
            terms = [mean, first @ first, second @ first, second @ second]
            # Depends on the block number, so that swapped blocks differ.
            terms += [
                row[: len(x)] @ first + number * step % 1 * mean for row, step in zip(WEIGHTS, STEPS, strict=True)
            ]
            sums = [total + more for total, more in zip(sums, terms, strict=True)]
    return [float(total) / n for total in sums]


def signed(value: Any) -> list[list[Any]]:
    """Return the signature and shape of each tensor in a result, and whether the values are floating-point.

    If the result is a number, string or list, return its own signature and shape.
    """
    entries = [
        [list(signature(tensor)), list(tensor.shape), tensor.is_floating_point()] for tensor in tensors_in(value)
    ]
    if not plain(value):
        return entries
    numbers = value if isinstance(value, (list, tuple)) else [value]
    return [*entries, [list(Series().of(value)), [], any(isinstance(number, float) for number in numbers)]]


def tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Yield the tensors in a value, including those in nested lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < NESTED and isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item, depth + 1)
    elif depth < NESTED and isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item, depth + 1)
