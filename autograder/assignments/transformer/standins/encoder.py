"""Stand-in for encoder.py: torch's own encoder layer with our submodules in it."""

from typing import Any

import torch
from mha import MultiHeadAttention
from torch import nn


class _Masked(nn.Module):
    """Attention with masks, wrapped so that torch's layers can call it."""

    def __init__(self, attention: nn.Module, *masks: torch.Tensor | None) -> None:
        super().__init__()
        self.attention, self.masks = attention, masks

    def forward(self, *inputs: torch.Tensor, **_: Any) -> tuple[torch.Tensor, None]:
        return self.attention(*inputs, *self.masks), None


class TransformerEncoderLayer(nn.Module):
    """One encoder layer."""

    def __init__(
        self, embedding_dim: int, ffn_embedding_dim: int, num_attention_heads: int, dropout_prob: float
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        """x is (B, T, d_model); the mask is (B, T) or None."""
        # Only torch's order of steps is needed. The submodules are replaced, so they take no memory ("meta") and
        # have no dropout. The new layer is in training mode, so that torch does not use its fused kernel; dropout
        # obeys the mode of `self.dropout`.
        layer = nn.TransformerEncoderLayer(1, 1, 1, dropout=0.0, batch_first=True, device="meta")
        for number, norm in enumerate((self.self_attn_layer_norm, self.final_layer_norm), start=1):
            layer.add_module(f"norm{number}", norm)
            layer.add_module(f"dropout{number}", self.dropout)
        layer.add_module("self_attn", _Masked(self.self_attn, self_attn_padding_mask))
        layer.add_module("linear1", self.fc1)
        layer.add_module("linear2", self.fc2)
        x = layer(x)
        return x


class TransformerEncoder(nn.Module):
    """A stack of encoder layers, with an output layer on top if `output_layer_size` is given."""

    def __init__(
        self,
        num_layers: int,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        output_layer_size: int | None = None,
    ) -> None:
        super().__init__()
        sizes = (embedding_dim, ffn_embedding_dim, num_attention_heads)
        self.layers = nn.ModuleList(TransformerEncoderLayer(*sizes, dropout_prob) for _ in range(num_layers))
        self.output_layer = nn.Linear(embedding_dim, output_layer_size) if output_layer_size is not None else None

    def forward(self, x: torch.Tensor, encoder_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        """x is (B, T, d_model); the mask is (B, T) or None. Return (B, T, d_model or output_layer_size)."""
        for layer in self.layers:
            x = layer(x, encoder_padding_mask)
        return x if self.output_layer is None else self.output_layer(x)
