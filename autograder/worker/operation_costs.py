"""The extra cost of operations on large tensors; a small operation costs 1."""

from collections.abc import Iterable
from typing import Any

import torch

ELEMENTS = 2048  # as expensive as one operation
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
PRODUCTS = 150_000  # multiplications that cost as much as one operation, if they can be summed at once
RECURRENT = {"gru": 6, "lstm": 8}  # matrix multiplications in each step
STEPWISE = 80_000  # multiplications, if they must be done step by step


def more(name: str, given: Iterable[torch.Tensor], value: Any) -> int:
    """Return the amount by which an operation's cost exceeds 1.

    Args:
        given: the input tensors; products are summed along the last axis of the first one.
        value: the result; if a tuple, only its first element counts.
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
