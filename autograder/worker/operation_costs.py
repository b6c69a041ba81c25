"""What an operation costs beside the fixed part, in operations of small tensors: it grows with the numbers."""

from collections.abc import Iterable
from typing import Any

import torch

ELEMENTS = 2048  # that cost as much as an operation
MULTIPLYING = {
    "linear",
    "matmul",
    "__matmul__",
    "bmm",
    "einsum",
    "baddbmm",
    "tensordot",
    "scaled_dot_product_attention",
}
PRODUCTS = 150_000  # of numbers that cost as much as an operation, where they are added up
RECURRENT = {"gru": 6, "lstm": 8}  # matrices that each step multiplies with
STEPWISE = 80_000  # products, where they cannot be made all at once


def more(name: str, given: Iterable[torch.Tensor], value: Any) -> int:
    """What an operation costs beside one.

    Args:
        given: the tensors that went into it; along the last axis of the first one products are added up.
        value: its result, or several, of which the first one counts.
    """
    made = value[0] if isinstance(value, tuple) and value else value
    if not isinstance(made, torch.Tensor):
        return 0
    size = made.numel()
    cost = size // ELEMENTS
    if name in MULTIPLYING or name in RECURRENT:
        first = next(iter(given), None)
        along = first.shape[-1] if first is not None and first.dim() else 1
        products = size * along * RECURRENT.get(name, 1)
        cost += products // (STEPWISE if name in RECURRENT else PRODUCTS)
    return cost
