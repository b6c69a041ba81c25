"""Stand-in for layers.py: torch's own functions."""

import torch
from torch import nn
from torch.nn import functional as F


class LayerNorm(nn.Module):
    """Layer normalisation over the last axis."""

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight, self.bias = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., size) -> (..., size)."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


def gelu(x: torch.Tensor) -> torch.Tensor:
    """x * Phi(x), element by element."""
    return F.gelu(x)


class FeedForward(nn.Module):
    """Two linear maps with GELU between them and dropout after them."""

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, d_model) -> (B, T, d_model)."""
        return nn.Sequential(self.fc1, nn.GELU(), self.fc2, self.dropout)(x)
