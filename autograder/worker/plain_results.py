"""In a worker: what the student's code gives, made plain, so that nothing of it computes later.

A tensor of a class of its own may compute when somebody looks at it (`__torch_function__`, `__torch_dispatch__`), and
so may a list (`__iter__`). Here tensors become those of torch and lists those of Python before anything is called on
them.
"""

from typing import Any

import torch

from autograder.sandbox.limits import MAX_DEPTH

KINDS = (torch.Tensor, torch.nn.Parameter)


def is_plain(value: Any) -> bool:
    """Whether a value is a tensor of torch's own classes."""
    return type(value) in KINDS


def plain_result(value: Any, depth: int = 0) -> Any:
    """A value with plain tensors, also in lists and tuples; what cannot be made plain stays, and is never sent."""
    kind = type(value)
    if kind in KINDS or depth > MAX_DEPTH:
        return value
    if issubclass(kind, torch.Tensor):
        dispatches = any("__torch_dispatch__" in vars(one) for one in kind.__mro__ if one is not torch.Tensor)
        with torch._C.DisableTorchFunctionSubclass():
            return value if dispatches else torch.Tensor.as_subclass(value, torch.Tensor)
    if issubclass(kind, (list, tuple)):
        base: Any = list if issubclass(kind, list) else tuple
        items = [plain_result(item, depth + 1) for item in base.__iter__(value)]
        same = kind is base and all(new is old for new, old in zip(items, value, strict=True))
        return value if same else base(items)
    return value
