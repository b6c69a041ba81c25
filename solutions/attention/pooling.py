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
    ### BEGIN SOLUTION
    return (u <= 1).to(u.dtype)
    ### END SOLUTION


def triangular(u: torch.Tensor) -> torch.Tensor:
    """The triangular kernel: 1 - u up to u = 1, and 0 beyond.

    Args:
        u: scaled distances, u >= 0, of any shape.

    Returns:
        a tensor of the same shape and dtype as u.
    """
    ### BEGIN SOLUTION
    return torch.clamp(1 - u, min=0)
    ### END SOLUTION


def epanechnikov(u: torch.Tensor) -> torch.Tensor:
    """The kernel of Epanechnikov (1969): 3/4 (1 - u^2) up to u = 1, and 0 beyond.

    Args:
        u: scaled distances, u >= 0, of any shape.

    Returns:
        a tensor of the same shape and dtype as u.
    """
    ### BEGIN SOLUTION
    return 0.75 * torch.clamp(1 - u**2, min=0)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    distances = torch.cdist(queries, keys)  # (n_q, n_k)
    reached = kernel(distances / width)
    nearest = (distances == distances.amin(dim=1, keepdim=True)).to(reached.dtype)
    # Chosen before the division: gradients through 0 / 0 are NaN even where its result is not used.
    reached = torch.where((reached == 0).all(dim=1, keepdim=True), nearest, reached)
    weights = reached / reached.sum(dim=1, keepdim=True)
    return weights @ values, weights
    ### END SOLUTION


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
        ### BEGIN SOLUTION
        return attention_pooling(queries, keys, values, self.kernel, self.log_width.exp())
        ### END SOLUTION

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
        ### BEGIN SOLUTION
        own = torch.eye(len(keys), dtype=torch.bool, device=keys.device)  # (n, n), True on the diagonal
        distances = torch.cdist(keys, keys)  # (n, n)
        # The kernel sees only finite distances: the gradient of an infinite distance would be NaN.
        reached = self.kernel(distances / self.log_width.exp()).masked_fill(own, 0)
        distances = distances.masked_fill(own, math.inf)
        nearest = (distances == distances.amin(dim=1, keepdim=True)).to(reached.dtype)
        reached = torch.where((reached == 0).all(dim=1, keepdim=True), nearest, reached)
        weights = reached / reached.sum(dim=1, keepdim=True)
        return weights @ values, weights
        ### END SOLUTION
