"""Stand-in for lm.py: the same model, built from torch's own norm, network parts and attention."""

import math
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F

KeysValues = tuple[torch.Tensor, torch.Tensor]


class RMSNorm(nn.Module):
    """Root mean square normalisation; `weight` has the shape (size,)."""

    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last axis."""
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Rotate x (..., T, D): each pair of neighbouring features is a complex number, rotated about the origin."""
    size = x.size(-1)
    speeds = torch.logspace(0, -4 * (size - 2) / size, size // 2, dtype=x.dtype)
    turns = torch.outer(positions.to(x.dtype), speeds)  # (T, D / 2)
    points = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(points * torch.polar(torch.ones_like(turns), turns)).flatten(-2)


def hidden_keys(past: int, new: int, kept: int, window: int | None) -> torch.Tensor:
    """True where a new query must not attend to a key, (new, kept + new)."""
    everything = torch.ones(past + new, past + new, dtype=torch.bool)
    seen = everything.tril() if window is None else everything.tril() & everything.triu(1 - window)
    return seen[past:, past - kept :].logical_not()


class Attention(nn.Module):
    """Causal self-attention with grouped queries, QK-norm, RoPE, and an optional window."""

    def __init__(
        self, d_model: int, num_heads: int, num_kv_heads: int, window: int | None = None, qk_norm: bool = True
    ) -> None:
        super().__init__()
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.d_head, self.window, self.qk_norm = d_model // num_heads, window, qk_norm
        wide, narrow = num_heads * self.d_head, num_kv_heads * self.d_head
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, n, bias=False) for n in (wide, narrow, narrow))
        self.W_o = nn.Linear(num_heads * self.d_head, d_model, bias=False)
        self.q_norm, self.k_norm = RMSNorm(self.d_head), RMSNorm(self.d_head)

    def project(self, x: torch.Tensor, past: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries (B, H, T_new, D), keys and values (B, G, T_new, D)."""
        B, T, _ = x.shape
        positions = torch.arange(T, device=x.device).add(past)
        heads = []
        for linear, norm in ((self.W_q, self.q_norm), (self.W_k, self.k_norm), (self.W_v, None)):
            y = F.linear(x, linear.weight).view(B, T, -1, self.d_head).permute(0, 2, 1, 3)
            if norm is not None:
                normalised = F.rms_norm(y, (self.d_head,), norm.weight, norm.eps)
                y = rotate(normalised if self.qk_norm else y, positions)
            heads.append(y)
        return heads[0], heads[1], heads[2]

    def forward(
        self, x: torch.Tensor, past: int = 0, cache: KeysValues | None = None
    ) -> tuple[torch.Tensor, KeysValues]:
        """Attend with torch's own function; the cache keeps the keys and values that a window may still include."""
        B, T, _ = x.shape
        q, *both = self.project(x, past)
        if cache is not None:
            both = [torch.cat(pair, dim=-2) for pair in zip(cache, both, strict=True)]
        share = self.num_heads // self.num_kv_heads
        k, v = (part.repeat_interleave(share, dim=1) for part in both)
        allowed = hidden_keys(past, T, k.size(-2) - T, self.window).logical_not()
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, scale=1 / math.sqrt(self.d_head))
        length = both[0].size(2)
        visible = length if self.window is None else min(self.window - 1, length)
        both = [part.narrow(2, length - visible, visible) for part in both]
        return self.W_o(mixed.permute(0, 2, 1, 3).reshape(B, T, -1)), (both[0], both[1])


class Block(nn.Module):
    """One layer."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int,
        d_ff: int,
        window: int | None = None,
        dropout: float = 0.0,
        qk_norm: bool = True,
        post_norm: bool = False,
    ) -> None:
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attention = Attention(d_model, num_heads, num_kv_heads, window, qk_norm)
        self.feed_forward = SwiGLU(d_model, d_ff)
        self.dropout, self.post_norm = nn.Dropout(dropout), post_norm

    def forward(
        self, x: torch.Tensor, past: int = 0, cache: KeysValues | None = None
    ) -> tuple[torch.Tensor, KeysValues]:
        """Apply attention, then the feed-forward network, each with a norm and a residual connection."""
        before, after = (nn.Identity(), self.norm1) if self.post_norm else (self.norm1, nn.Identity())
        attended, cache = self.attention(before(x), past, cache)
        x = after(x + self.dropout(attended))
        before, after = (nn.Identity(), self.norm2) if self.post_norm else (self.norm2, nn.Identity())
        return after(x + self.dropout(self.feed_forward(before(x)))), cache


class SwiGLU(nn.Module):
    """A gated feed-forward network."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.W_gate, self.W_up = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
        self.W_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., d_model) -> (..., d_model)."""
        gate = self.W_gate(x)
        return self.W_down(gate * gate.sigmoid() * self.W_up(x))


class LanguageModel(nn.Module):
    """A decoder-only Transformer whose output layer uses the embedding's weights."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int = 128,
        num_layers: int = 4,
        num_heads: int = 4,
        num_kv_heads: int = 2,
        d_ff: int = 320,
        windows: Sequence[int | None] = (None,),
        dropout: float = 0.0,
        qk_norm: bool = True,
        post_norm: bool = False,
    ) -> None:
        super().__init__()
        self.embedding, self.dropout = nn.Embedding(vocab_size, d_model), nn.Dropout(dropout)
        sizes = d_model, num_heads, num_kv_heads, d_ff
        options = dropout, qk_norm, post_norm
        each = [windows[layer % len(windows)] for layer in range(num_layers)]
        self.blocks = nn.ModuleList(Block(*sizes, window, *options) for window in each)
        self.norm = RMSNorm(d_model)

    def forward(
        self, tokens: torch.Tensor, past: int = 0, caches: list[KeysValues] | None = None
    ) -> tuple[torch.Tensor, list[KeysValues]]:
        """Logits (B, T_new, V), and the cache of each block."""
        y, kept = self.dropout(F.embedding(tokens, self.embedding.weight)), []
        before: list[KeysValues | None] = [None] * len(self.blocks) if caches is None else [*caches]
        for block, cache in zip(self.blocks, before, strict=True):
            y, after = block(y, past, cache)
            kept.append(after)
        return self.norm(y).matmul(self.embedding.weight.mT), kept

    def loss(self, tokens: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of all tokens after the first."""
        logits = self(tokens[:, :-1])[0].log_softmax(-1)
        return -logits.gather(-1, tokens[:, 1:].unsqueeze(-1)).mean()
