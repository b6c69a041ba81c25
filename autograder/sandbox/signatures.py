"""Short signatures of tensors, by which one is known again whatever its name is and wherever it was made."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import torch

COLUMNS = 7  # of a signature
WHOLE = 1 << 19  # elements; of a larger tensor a part is looked at
TURNED = 4  # axes of a tensor of which every order is tried
NESTED = 4  # lists in lists
_WEIGHTS: dict[int, torch.Tensor] = {}


def signature(tensor: torch.Tensor) -> tuple[float, ...]:
    """Seven numbers: four means that do not depend on the order of the elements, two that do, one for the shape.

    The elements are squeezed into (-1, 1) first, like x / (1 + |x|), so that -inf, -1e9 and the lowest number of a type
    all count as -1; near zero like the root of |x|, so that small numbers, as variances, differ. Axes of size 1 have no
    part in it.
    """
    shape = 0
    for size in tensor.shape:
        shape = shape if size == 1 else (shape * 1009 + size) % 9973
    with torch._C.DisableTorchFunction(), torch.no_grad():
        x = tensor.detach().as_subclass(torch.Tensor)
        x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
        x = x.reshape(-1)
        n = x.numel()
        if n == 0:
            return (0.0,) * COLUMNS
        if n > WHOLE:
            x = x[:: n // WHOLE + 1]
            n = x.numel()
        x = torch.nan_to_num(x.to(torch.float64), nan=0.5, posinf=1e300, neginf=-1e300)
        large = x.abs()
        large += large.sqrt()
        x = torch.copysign(large / (2 + large), x)
        square = x * x
        if n not in _WEIGHTS:
            k = torch.arange(1, n + 1, dtype=torch.float64)
            _WEIGHTS[n] = torch.stack([(k * 0.6180339887498949) % 1, (k * 0.4142135623730951) % 1]) - 0.5
        ordered = (_WEIGHTS[n] @ x) / n
        means = (x.mean(), x @ x / n, square @ x / n, square @ square / n)
        return (*map(float, means), float(ordered[0]), float(ordered[1]), shape / 9973)


def holds_nan(tensor: torch.Tensor) -> bool:
    """Whether an element is not a number."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return False
    with torch._C.DisableTorchFunction(), torch.no_grad():
        return bool(tensor.detach().as_subclass(torch.Tensor).isnan().any())


def turns(tensor: torch.Tensor) -> list[list[Any]]:
    """The signatures of a tensor with its axes in every order, each behind that order; none if it has many axes."""
    if tensor.dim() > TURNED:
        return []
    return [[list(axes), list(signature(tensor.permute(axes)))] for axes in permutations(range(tensor.dim()))]


def signed(value: Any) -> list[list[Any]]:
    """The signature and the shape of each tensor of a result, or of the number, text or list that it is, and whether
    it is of fractions."""
    from autograder.sandbox.plain_values import Series, plain

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
