"""Find out whether a tensor was changed, and which tensors share memory."""

import torch


def version_of(tensor: torch.Tensor) -> int:
    """The number of in-place changes made to a tensor so far."""
    try:
        return tensor._version
    except RuntimeError:  # tensors created in inference mode have no version
        return 0


def memory_of(tensor: torch.Tensor) -> int:
    """The address of a tensor's data; 0 if it has none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0
