"""In a worker: convert results of student code to plain types, so that using them runs no student code.

A tensor subclass may run code when it is inspected (`__torch_function__`, `__torch_dispatch__`), and so may a list
(`__iter__`). Therefore, tensors are converted to torch's own type, and lists to Python's, before any of their methods
is called.
"""

from typing import Any

import numpy as np
import torch

from autograder.sandbox.limits import MAX_DEPTH

KINDS = (torch.Tensor, torch.nn.Parameter)
NUMBERS = (np.bool_, *(np.dtype(code).type for code in np.typecodes["AllInteger"] + "efd"))  # elements of arrays


def is_plain(value: Any) -> bool:
    """Whether a value is a tensor of one of torch's own classes."""
    return type(value) in KINDS


def plain_result(value: Any, depth: int = 0) -> Any:
    """Convert a value, including any items in it, to plain types; a value that cannot be converted is never sent."""
    kind = type(value)
    if kind in KINDS or depth > MAX_DEPTH:
        return value
    if issubclass(kind, torch.Tensor):
        dispatches = any(
            "__torch_dispatch__" in vars(ancestor) for ancestor in kind.__mro__ if ancestor is not torch.Tensor
        )
        with torch._C.DisableTorchFunctionSubclass():
            return value if dispatches else torch.Tensor.as_subclass(value, torch.Tensor)
    if any(kind is one for one in NUMBERS):
        return value.item()
    if issubclass(kind, (list, tuple)):
        base: Any = list if issubclass(kind, list) else tuple
        items = [plain_result(item, depth + 1) for item in base.__iter__(value)]
        same = kind is base and all(new is old for new, old in zip(items, value, strict=True))
        return value if same else base(items)
    return value
