"""Stage 1: attention pooling with kernels (Nadaraya 1964, Watson 1964).

Shapes are written with n_q = queries, n_k = keys, d = features of a query and of a key, d_v = features of a value.
"""

import math
from collections.abc import Callable

import torch
from torch import nn

Kernel = Callable[[torch.Tensor], torch.Tensor]


def gaussian(u: torch.Tensor) -> torch.Tensor:
    """The Gaussian kernel exp(-u^2 / 2) of a scaled distance u >= 0, element by element."""
    return torch.exp(-(u**2) / 2)


def constant(u: torch.Tensor) -> torch.Tensor:
    """The constant kernel: 1 at every distance, so attention becomes the mean of all values."""
    return torch.ones_like(u)


def boxcar(u: torch.Tensor) -> torch.Tensor:
    """The boxcar kernel: 1 up to and including u = 1, and 0 beyond.

    Args:
        u: scaled distances, u >= 0, of any shape.

    Returns:
        a floating-point tensor of the same shape and dtype as u (not booleans).
    """
    raise NotImplementedError("Stage 1: boxcar is not written yet")


def triangular(u: torch.Tensor) -> torch.Tensor:
    """The triangular kernel: 1 - u up to u = 1, and 0 beyond.

    Args:
        u: scaled distances, u >= 0, of any shape.

    Returns:
        a tensor of the same shape and dtype as u.
    """
    raise NotImplementedError("Stage 1: triangular is not written yet")


def epanechnikov(u: torch.Tensor) -> torch.Tensor:
    """The kernel of Epanechnikov (1969): 3/4 (1 - u^2) up to u = 1, and 0 beyond.

    Args:
        u: scaled distances, u >= 0, of any shape.

    Returns:
        a tensor of the same shape and dtype as u.
    """
    raise NotImplementedError("Stage 1: epanechnikov is not written yet")


def attention_pooling(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    kernel: Kernel,
    width: float | torch.Tensor = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Estimate a value for each query: the mean of all values, weighted by how near their keys are.

    The weight of a key is kernel(u) divided by the sum of kernel(u) over all keys of the same query, where u is the
    Euclidean distance between query and key divided by `width`.

    If the kernel reaches no key for a query, all its kernel values are 0, and 0 / 0 is NaN. Such a query attends to
    its nearest key instead, with a weight of 1. If several keys are equally near, they share the weight equally.

    Args:
        queries: (n_q, d).
        keys: (n_k, d).
        values: (n_k, d_v), one value for each key.
        kernel: `gaussian`, `boxcar` or any other element-wise function of the scaled distances.
        width: the distance at which u is 1, a number or a tensor of shape (). Gradients flow back to a tensor, and
            are finite even where a query reaches no key.

    Returns:
        estimates: (n_q, d_v).
        weights: (n_q, n_k); each row sums to 1.
    """
    raise NotImplementedError("Stage 1: attention_pooling is not written yet")


class KernelRegression(nn.Module):
    """Attention pooling with a learned width, which stays positive: the only parameter is its logarithm."""

    def __init__(self, kernel: Kernel = gaussian, width: float = 1.0) -> None:
        super().__init__()
        self.kernel = kernel
        self.log_width = nn.Parameter(torch.tensor(math.log(width)))

    def forward(
        self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Estimate a value for each query with `attention_pooling` and the current width.

        Args:
            queries: (n_q, d).
            keys: (n_k, d).
            values: (n_k, d_v).

        Returns:
            estimates: (n_q, d_v).
            weights: (n_q, n_k).
        """
        raise NotImplementedError("Stage 1: KernelRegression.forward is not written yet")

    def leave_one_out(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Predict each value from all other pairs, as if it were unknown.

        Key i is also query i. But pair i itself gets the weight 0, whatever the kernel; the other weights of the row
        sum to 1. Where the kernel reaches no other key, the nearest other keys share the weight, as in
        `attention_pooling`. The mean squared error of these predictions is a loss for learning the width. The error
        of `forward` is not: it is smallest when the width is 0 and every pair looks at itself.

        Args:
            keys: (n, d), n >= 2.
            values: (n, d_v).

        Returns:
            predictions: (n, d_v).
            weights: (n, n), with zeros on the diagonal.
        """
        raise NotImplementedError("Stage 1: KernelRegression.leave_one_out is not written yet")
