"""Stage 1: layer norm (Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450)."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    """Normalises each vector of features to mean 0 and variance 1, then scales and shifts each feature.

        y = weight * (x - mean) / sqrt(variance + eps) + bias

    The mean and the variance are computed over the vector; the variance is the mean of the squared deviations.
    """

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last axis of x.

        Args:
            x: feature vectors, (..., size).

        Returns:
            (..., size).
        """
        ### BEGIN SOLUTION
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        variance = x.var(dim=-1, correction=0, keepdim=True)  # (..., 1)
        return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias
        ### END SOLUTION
