"""Stand-in for language_model.py: the layer, the shared base class of two models, and the language model."""

from abc import ABC, abstractmethod
from typing import Any

import torch
from heads import MultiHeadAttentionEfficient
from layers import FeedForward, LayerNorm
from torch import nn
from torch.nn import functional as F


class _Masked(nn.Module):
    """Attention with a mask, wrapped so that torch's layer can call it."""

    def __init__(self, attention: nn.Module, mask: torch.Tensor | None) -> None:
        super().__init__()
        self.attention, self.mask = attention, mask

    def forward(self, x: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, None]:
        return self.attention(x, self.mask), None


class Block(nn.Module):
    """One layer (pre-norm)."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.attention = MultiHeadAttentionEfficient(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B, T, d_model) -> (B, T, d_model)."""
        # Only the order of torch's steps is needed; its submodules are replaced, so they take no memory ("meta").
        layer = nn.TransformerEncoderLayer(1, 1, 1, dropout=0.0, batch_first=True, norm_first=True, device="meta")
        layer.activation = nn.Identity()
        parts = {"norm1": self.norm1, "norm2": self.norm2, "linear1": self.feed_forward, "linear2": nn.Identity()}
        for name, part in {**parts, "self_attn": _Masked(self.attention, mask)}.items():
            layer.add_module(name, part)
        return layer(x)


class AbstractTransformer(nn.Module, ABC):
    """Embeddings, layers and a final norm."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_len: int,
        dropout: float,
        padding_idx: int,
    ) -> None:
        super().__init__()
        self.max_len, self.padding_idx = max_len, padding_idx
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = LayerNorm(d_model)
        for module in self.modules():  # small initial values, for training from scratch
            if isinstance(module, nn.Linear | nn.Embedding):
                module.weight.data.normal_(std=0.02)
            if isinstance(module, nn.Linear):
                module.bias.data.zero_()

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Compute the logits from tokens."""


class DecoderTransformer(AbstractTransformer):
    """A language model with tied weights."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(B, T) -> (B, T, V)."""
        T = tokens.size(1)
        if T > self.max_len:
            raise ValueError(f"{T} tokens for {self.max_len} positions")
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding.weight[:T])
        later = nn.Transformer.generate_square_subsequent_mask(T, device=tokens.device).isinf()[None]
        for block in self.blocks:
            x = block(x, later)
        return torch.einsum("btd,vd->btv", self.norm(x), self.token_embedding.weight)

    def loss(self, tokens: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of the next tokens, ignoring padding."""
        scores = self(tokens[:, :-1]).transpose(1, 2)  # (B, T - 1, V) -> (B, V, T - 1)
        return F.cross_entropy(scores, tokens[:, 1:], ignore_index=self.padding_idx)
