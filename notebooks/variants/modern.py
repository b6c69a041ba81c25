"""Stage 8, extra credit: the parts of today's open models (Llama, Mistral, Qwen and others) that GPT-2 did not have.

Shapes are written with B = batch, T = positions, H = heads of queries, G = heads of keys and values,
d_head = d_model / H. The linear maps have no bias.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

KeysValues = tuple[torch.Tensor, torch.Tensor]  # (B, G, T, d_head) each


class RMSNorm(nn.Module):
    """Root mean square normalisation (Zhang and Sennrich, 2019): a layer norm without mean and without bias.

    y = weight * x / sqrt(mean of x^2 + eps)
    """

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last axis. The mean of x is not subtracted.

        Args:
            x: (..., size), with any number of axes before the last.

        Returns:
            (..., size).
        """
        raise NotImplementedError("Stage 8: RMSNorm.forward is not written yet")


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding (Su et al., 2021): turn pairs of features by an angle that grows with the position.

    Features 2i and 2i + 1 are the two coordinates of a point in a plane, which is turned about the origin by
    angle = position * 10000^(-2i / d_head):

        y[2i]     = x[2i] * cos(angle) - x[2i + 1] * sin(angle)
        y[2i + 1] = x[2i] * sin(angle) + x[2i + 1] * cos(angle)

    The product of a turned query and a turned key then depends on the distance of their positions only.

    Args:
        x: queries or keys, (..., T, d_head), with any number of axes before.
        positions: (T,), integers from 0 on; they need not begin with 0 nor follow one another.

    Returns:
        (..., T, d_head). x itself is left as it is.

    Raises:
        ValueError: if d_head is odd. The message names it.
    """
    raise NotImplementedError("Stage 8: rotate is not written yet")


class SwiGLU(nn.Module):
    """A feed-forward network with a gate (Shazeer, 2020): W_down (silu(W_gate x) * W_up x)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.W_gate = nn.Linear(d_model, d_ff, bias=False)
        self.W_up = nn.Linear(d_model, d_ff, bias=False)
        self.W_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the network to each position by itself. silu(z) = z * sigmoid(z); only the gate goes through it.

        Args:
            x: (..., d_model).

        Returns:
            (..., d_model).
        """
        raise NotImplementedError("Stage 8: SwiGLU.forward is not written yet")


class GroupedQueryAttention(nn.Module):
    """Causal self-attention in which several heads of queries share keys and values (Ainslie et al., 2023).

    H heads of queries are divided into G groups of neighbours: with H = 4 and G = 2, the query heads 0 and 1 use key
    head 0, and the query heads 2 and 3 use key head 1. G = H is multi-head attention, G = 1 multi-query attention. The
    cache is smaller by H / G.
    """

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int) -> None:
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(
                f"d_model ({d_model}) must be a multiple of num_heads ({num_heads}), "
                f"and that of num_kv_heads ({num_kv_heads})"
            )
        self.num_heads = num_heads  # H
        self.num_kv_heads = num_kv_heads  # G
        self.d_head = d_model // num_heads
        self.W_q = nn.Linear(d_model, num_heads * self.d_head, bias=False)
        self.W_k = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.W_v = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.W_o = nn.Linear(num_heads * self.d_head, d_model, bias=False)

    def forward(self, x: torch.Tensor, cache: KeysValues | None = None) -> tuple[torch.Tensor, KeysValues]:
        """Attend to all earlier positions and to the own one.

        Queries and keys are turned with `rotate` of this module, values are not. The new positions are T_past,
        T_past + 1, ..., where T_past is the number of positions in the cache (0 without one). Keys stand in the cache
        as they are after turning, so that they are turned once. Scores are divided by the root of d_head. There is no
        dropout.

        Args:
            x: the new positions, (B, T_new, d_model). Without a cache T_new is any number from 1 on; with one it is 1.
            cache: keys and values of the positions before, (B, G, T_past, d_head) each, or None.

        Returns:
            y: (B, T_new, d_model), the heads side by side, mixed by W_o.
            new_cache: keys and values of all positions, (B, G, T_past + T_new, d_head) each. The given cache is left
                as it is.
        """
        raise NotImplementedError("Stage 8: GroupedQueryAttention.forward is not written yet")


class ModernBlock(nn.Module):
    """One layer of today's open models: RMSNorm before each sub-layer, grouped queries, rotary positions, SwiGLU."""

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, d_ff: int) -> None:
        super().__init__()
        self.norm1 = RMSNorm(d_model)
        self.attention = GroupedQueryAttention(d_model, num_heads, num_kv_heads)
        self.norm2 = RMSNorm(d_model)
        self.feed_forward = SwiGLU(d_model, d_ff)

    def forward(self, x: torch.Tensor, cache: KeysValues | None = None) -> tuple[torch.Tensor, KeysValues]:
        """Apply both sub-layers to the new positions, (B, T_new, d_model), and give the new cache as well."""
        attended, cache = self.attention(self.norm1(x), cache)
        x = x + attended
        return x + self.feed_forward(self.norm2(x)), cache
