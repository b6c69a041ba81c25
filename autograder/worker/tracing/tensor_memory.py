"""What tells whether a tensor was changed, and which tensors share their numbers."""

import torch


def version_of(tensor: torch.Tensor) -> int:
    """How often it was changed in place."""
    try:
        return tensor._version
    except RuntimeError:  # a tensor of inference mode has none
        return 0


def memory_of(tensor: torch.Tensor) -> int:
    """Where its numbers lie; 0 if they lie nowhere."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0
