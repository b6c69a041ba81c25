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
        ### BEGIN SOLUTION
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # float32 at least; float64 stays
        root = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return self.weight * (wide * root).to(x.dtype)
        ### END SOLUTION


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
    ### BEGIN SOLUTION
    d_head = x.size(-1)
    if d_head % 2:
        raise ValueError(f"features are turned in pairs, but {d_head} is an odd number of features")
    wide = torch.promote_types(x.dtype, torch.float32)  # float32 at least; float64 stays
    exponents = torch.arange(0, d_head, 2, device=x.device, dtype=wide) / d_head
    angles = positions[:, None].to(wide) * 10000.0**-exponents  # (T, 1) and (d_head / 2,) -> (T, d_head / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, d_head / 2)
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)  # (..., T, d_head / 2, 2)
    return turned.flatten(-2)  # -> (..., T, d_head)
    ### END SOLUTION


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
        ### BEGIN SOLUTION
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))
        ### END SOLUTION


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
        ### BEGIN SOLUTION
        T_new = x.size(1)
        T_past = 0 if cache is None else cache[0].size(2)
        positions = torch.arange(T_past, T_past + T_new, device=x.device)

        def split_heads(y: torch.Tensor) -> torch.Tensor:
            return y.unflatten(-1, (-1, self.d_head)).transpose(1, 2)  # (B, T, H * d_head) -> (B, H, T, d_head)

        q = rotate(split_heads(self.W_q(x)), positions)  # (B, H, T_new, d_head)
        k = rotate(split_heads(self.W_k(x)), positions)  # (B, G, T_new, d_head)
        v = split_heads(self.W_v(x))
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)  # (B, G, T, d_head)
        # (B, H, T_new, d_head) -> (B, G, H / G, T_new, d_head): the heads of a group side by side
        grouped = q.unflatten(1, (self.num_kv_heads, -1))
        scores = grouped @ k.unsqueeze(2).transpose(-2, -1) / math.sqrt(self.d_head)  # (B, G, H / G, T_new, T)
        later = torch.ones(T_new, k.size(2), dtype=torch.bool, device=x.device).triu(diagonal=T_past + 1)
        heads = torch.softmax(scores.masked_fill(later, -math.inf), dim=-1) @ v.unsqueeze(2)
        # (B, G, H / G, T_new, d_head) -> (B, H, T_new, d_head) -> (B, T_new, H * d_head)
        merged = heads.flatten(1, 2).transpose(1, 2).flatten(2)
        return self.W_o(merged), (k, v)
        ### END SOLUTION


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
