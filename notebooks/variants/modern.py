"""Stage 8, extra credit: the parts of today's open models (Llama, Mistral, Qwen and others) that GPT-2 did not have.

In shapes, B = batch, T = positions, H = query heads, G = key and value heads, d_head = d_model / H. The linear maps
have no bias.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

KeysValues = tuple[torch.Tensor, torch.Tensor]  # (B, G, T, d_head) each


class RMSNorm(nn.Module):
    """Root mean square normalisation (Zhang and Sennrich, 2019): a layer norm without the mean and the bias.

    y = weight * x / sqrt(mean of x^2 + eps)
    """

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last axis. The mean of x is not subtracted.

        x may be in half precision (float16, bfloat16). In that case, compute the mean of the squares in float32: the
        square of 300 is too large for float16.

        Args:
            x: (..., size), with any number of axes before the last.

        Returns:
            (..., size).
        """
        raise NotImplementedError("Stage 8: RMSNorm.forward is not written yet")


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding (Su et al., 2021): rotate pairs of features by an angle that grows with the position.

    Features 2i and 2i + 1 are the coordinates of a point in a plane, which is rotated about the origin by
    angle = position * 10000^(-2i / d_head):

        y[2i]     = x[2i] * cos(angle) - x[2i + 1] * sin(angle)
        y[2i + 1] = x[2i] * sin(angle) + x[2i + 1] * cos(angle)

    The product of a rotated query and a rotated key then depends only on the distance between their positions.

    x may be in half precision (float16, bfloat16). In that case, compute the angles, their sines and cosines in
    float32. bfloat16 has 8 significant bits: position 299 would become 300, and the angle would be wrong by one radian.

    Args:
        x: queries or keys, (..., T, d_head), with any number of axes before T.
        positions: (T,), integers, at least 0; they need not start at 0 or be consecutive.

    Returns:
        (..., T, d_head). x itself does not change.

    Raises:
        ValueError: if d_head is odd. The message names this number.
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
        """Apply the network to each position separately. silu(z) = z * sigmoid(z) is applied only to the gate.

        Args:
            x: (..., d_model).

        Returns:
            (..., d_model).
        """
        raise NotImplementedError("Stage 8: SwiGLU.forward is not written yet")


class GroupedQueryAttention(nn.Module):
    """Causal self-attention in which several query heads share keys and values (Ainslie et al., 2023).

    H query heads are divided into G groups of neighbours. With H = 4 and G = 2, query heads 0 and 1 use key head 0, and
    query heads 2 and 3 use key head 1. G = H is multi-head attention, G = 1 is multi-query attention. The cache is
    H / G times smaller.
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
        """Let each position attend to itself and to all earlier positions.

        Rotate queries and keys with `rotate` from this module, but not values. The new positions are T_past,
        T_past + 1, ..., where T_past is the number of positions in the cache (0 without a cache). The cache stores
        rotated keys, so each key is rotated only once. Divide the scores by the square root of d_head. There
        is no dropout.

        Args:
            x: the new positions, (B, T_new, d_model). Without a cache, T_new is at least 1; with a cache it is 1.
            cache: keys and values of the earlier positions, (B, G, T_past, d_head) each, or None.

        Returns:
            y: (B, T_new, d_model), the heads concatenated and mixed by W_o.
            new_cache: keys and values of all positions, (B, G, T_past + T_new, d_head) each. The cache passed in does
                not change.
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
        """Apply both sub-layers to the new positions, (B, T_new, d_model); return the output and the new cache."""
        attended, cache = self.attention(self.norm1(x), cache)
        x = x + attended
        return x + self.feed_forward(self.norm2(x)), cache
