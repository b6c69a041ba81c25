"""Measure how much a call computes: the largest number of rows of a given width in any result of a torch function."""

from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class CountRows(TorchFunctionMode):
    """Counts rows: `most` is the largest number of rows of a tensor whose last axis has `width` elements."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width, self.most = width, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.dim() and result.size(-1) == self.width:
            self.most = max(self.most, result.numel() // self.width)
        return result
