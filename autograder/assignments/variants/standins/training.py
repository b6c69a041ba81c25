"""Stand-in for training.py: the functions that a training step uses."""

from collections.abc import Iterable

import torch
from torch import nn


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> torch.Tensor:
    """Return the norm of all gradients taken together; if it exceeds `max_norm`, scale the gradients down in place."""
    found = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(one) for one in found]))
    for one in found:
        one.div_(norm.div(max_norm).clamp(min=1.0))
    return norm
