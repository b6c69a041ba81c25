"""Stage 3: a modern language model: RoPE, QK-norm, grouped queries, sliding windows, SwiGLU, RMSNorm.

In shapes, B = batch, T = positions, V = vocabulary, H = query heads, G = key and value heads, D = d_head =
d_model / H. The assignment `variants` teaches the given parts: `RMSNorm`, `rotate`, `SwiGLU` and grouped queries.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import nn

KeysValues = tuple[torch.Tensor, torch.Tensor]  # (B, G, kept, D) each


class RMSNorm(nn.Module):
    """Given: y = weight * x / sqrt(mean of x^2 + eps)."""

    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last axis, (..., size)."""
        return self.weight * x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Given: rotary position embedding. Rotates features 2i and 2i + 1 of x, (..., T, D), by the angle of the position.

    Args:
        positions: (T,), integers.
    """
    D = x.size(-1)
    angles = positions[:, None].to(x.dtype) * 10000.0 ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)  # (T, D / 2)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class SwiGLU(nn.Module):
    """Given: the feed-forward network with a gate."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.W_gate = nn.Linear(d_model, d_ff, bias=False)
        self.W_up = nn.Linear(d_model, d_ff, bias=False)
        self.W_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., d_model) -> (..., d_model)."""
        gate = F.silu(self.W_gate(x))
        return self.W_down(gate * self.W_up(x))


def hidden_keys(past: int, new: int, kept: int, window: int | None) -> torch.Tensor:
    """Mark the keys that each new query may not attend to.

    The new queries are at the positions past, past + 1, ..., past + new - 1. The keys are `kept` keys from the cache,
    which are at the last `kept` positions before `past`, and then the keys of the new positions themselves. A query at
    position p attends to the keys at p - window + 1, ..., p; without a window, to all keys up to p.

    Args:
        past: the number of positions that the model has already read.
        new: the number of new positions, at least 1.
        kept: the number of keys in the cache, at most `past`.
        window: at least 1, or None for no window.

    Returns:
        (new, kept + new), boolean, True where the query may not attend.
    """
    raise NotImplementedError("Stage 3: hidden_keys is not written yet")


class Attention(nn.Module):
    """Causal self-attention with grouped queries, QK-norm, RoPE, and an optional window."""

    def __init__(
        self, d_model: int, num_heads: int, num_kv_heads: int, window: int | None = None, qk_norm: bool = True
    ) -> None:
        super().__init__()
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads  # H, G
        self.d_head = d_model // num_heads  # D
        self.window = window
        self.qk_norm = qk_norm
        self.W_q = nn.Linear(d_model, num_heads * self.d_head, bias=False)
        self.W_k = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.W_v = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.W_o = nn.Linear(num_heads * self.d_head, d_model, bias=False)
        self.q_norm, self.k_norm = RMSNorm(self.d_head), RMSNorm(self.d_head)

    def project(self, x: torch.Tensor, past: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Compute queries, keys and values for the new positions.

        Project x and split it into heads: head h has the features h * D to (h + 1) * D - 1. Then, if `qk_norm` is set,
        normalise each query with `q_norm` and each key with `k_norm`. Then rotate queries and keys by their positions,
        past, past + 1, ... Values are neither normalised nor rotated.

        Args:
            x: (B, T_new, d_model).
            past: the number of positions before x.

        Returns:
            q: (B, H, T_new, D).
            k, v: (B, G, T_new, D).
        """
        raise NotImplementedError("Stage 3: Attention.project is not written yet")

    def forward(
        self, x: torch.Tensor, past: int = 0, cache: KeysValues | None = None
    ) -> tuple[torch.Tensor, KeysValues]:
        """Let the new positions attend to the cached keys and to each other.

        Query head h uses key and value head h // (H / G). Divide the scores by the square root of D. Use `project` and
        `hidden_keys`. The new cache holds the keys and values that later positions may still see. Without a window, it
        holds all; with a window, at most the last window - 1 (none for a window of 1: then an axis has size 0).

        Args:
            x: the new positions, (B, T_new, d_model), with T_new at least 1.
            past: the number of positions before x. With a window, it can be larger than the number of cached keys.
            cache: keys and values of the last positions before x, (B, G, kept, D) each, oldest first; or None if there
                are none.

        Returns:
            y: (B, T_new, d_model), the heads concatenated and mixed by W_o.
            new_cache: keys and values, (B, G, new kept, D) each. The cache that was passed in does not change.
        """
        raise NotImplementedError("Stage 3: Attention.forward is not written yet")


class Block(nn.Module):
    """Given: one layer. The norms come before attention and the network, or after them with `post_norm`."""

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
        self.dropout = nn.Dropout(dropout)
        self.post_norm = post_norm

    def forward(
        self, x: torch.Tensor, past: int = 0, cache: KeysValues | None = None
    ) -> tuple[torch.Tensor, KeysValues]:
        """Apply both sub-layers to the new positions, (B, T_new, d_model); return the output and the new cache."""
        if self.post_norm:
            y, cache = self.attention(x, past, cache)
            x = self.norm1(x + self.dropout(y))
            return self.norm2(x + self.dropout(self.feed_forward(x))), cache
        y, cache = self.attention(self.norm1(x), past, cache)
        x = x + self.dropout(y)
        return x + self.dropout(self.feed_forward(self.norm2(x))), cache


class LanguageModel(nn.Module):
    """A decoder-only Transformer whose output layer uses the weights of the embedding.

    Layer i uses windows[i % len(windows)]; None means no window. `qk_norm` and `post_norm` are for experiments.
    """

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
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            Block(
                d_model,
                num_heads,
                num_kv_heads,
                d_ff,
                windows[layer % len(windows)],
                dropout,
                qk_norm,
                post_norm,
            )
            for layer in range(num_layers)
        )
        self.norm = RMSNorm(d_model)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                last = name.endswith(("W_o.weight", "W_down.weight"))
                nn.init.normal_(parameter, std=0.02 / (math.sqrt(2 * num_layers) if last else 1))

    def forward(
        self, tokens: torch.Tensor, past: int = 0, caches: list[KeysValues] | None = None
    ) -> tuple[torch.Tensor, list[KeysValues]]:
        """Predict the token after each new position.

        Embed the tokens, apply dropout, then all blocks, each with its own cache, then the norm. The logits are the
        products with the rows of the embedding matrix; there is no other output layer.

        Args:
            tokens: the new tokens, (B, T_new).
            past: the number of tokens that the model has already read.
            caches: one for each block, or None at the beginning.

        Returns:
            logits: (B, T_new, V).
            new_caches: one for each block. The list that was passed in does not change.
        """
        raise NotImplementedError("Stage 3: LanguageModel.forward is not written yet")

    def loss(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute how badly each token is predicted from the tokens before it.

        The model reads all tokens but the last, and must predict all tokens but the first.

        Args:
            tokens: (B, T + 1).

        Returns:
            The mean cross-entropy in nats over all B * T predictions, a tensor without axes.
        """
        raise NotImplementedError("Stage 3: LanguageModel.loss is not written yet")
