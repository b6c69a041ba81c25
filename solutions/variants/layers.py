"""Stage 1: layer normalisation, GELU and the feed-forward network of the models in this assignment.

In shapes, B = batch, T = positions. The models follow GPT-2 (Radford et al., 2019), which differs from the Transformer
of 2017: GELU replaces ReLU, and the norms come before the sub-layers (stage 3).
"""

import math

import torch
from torch import nn


class LayerNorm(nn.Module):
    """Layer normalisation (Ba, Kiros and Hinton, 2016): every feature vector is normalised separately.

        y = weight * (x - mean) / sqrt(variance + eps) + bias

    Mean and variance are taken over the last axis, one pair for every position. Use the biased variance: the sum of the
    squared distances from the mean, divided by `size`, not by `size - 1`. `eps` is added to the variance,
    under the root.
    """

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last axis.

        Args:
            x: (..., size), with any number of axes before the last. `size` may be 1.

        Returns:
            (..., size). x itself does not change.
        """
        ### BEGIN SOLUTION
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1): keepdim lets it broadcast against x
        variance = (x - mean).pow(2).mean(dim=-1, keepdim=True)  # (..., 1)
        return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias
        ### END SOLUTION


def gelu(x: torch.Tensor) -> torch.Tensor:
    """The Gaussian error linear unit (Hendrycks and Gimpel, 2016), x * Phi(x), elementwise.

    Phi is the distribution function of the standard normal distribution, Phi(x) = (1 + erf(x / sqrt(2))) / 2. Use this
    exact form. GPT-2 itself uses a tanh approximation, which differs from it by up to 5e-4.

    Args:
        x: a tensor of any shape. It does not change.

    Returns:
        a tensor of the same shape.
    """
    ### BEGIN SOLUTION
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
    ### END SOLUTION


class FeedForward(nn.Module):
    """The position-wise feed-forward network: FFN(x) = Dropout(W_2 gelu(W_1 x + b_1) + b_2).

    There is one dropout, at the end.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.fc1 = nn.Linear(d_model, d_ff)  # W_1 and b_1
        self.fc2 = nn.Linear(d_ff, d_model)  # W_2 and b_2
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the network to each position separately, with `gelu` from this module.

        Args:
            x: (B, T, d_model).

        Returns:
            (B, T, d_model).
        """
        ### BEGIN SOLUTION
        hidden = gelu(self.fc1(x))  # (B, T, d_model) -> (B, T, d_ff)
        return self.dropout(self.fc2(hidden))  # (B, T, d_ff) -> (B, T, d_model)
        ### END SOLUTION
