"""Stand-in for decoder.py: torch's own decoder layer with our submodules in it."""

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


class TransformerDecoderLayer(nn.Module):
    """One decoder layer, without `encoder_attn` if `no_encoder_attn` is true."""

    def __init__(
        self,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        crossing = not no_encoder_attn
        self.encoder_attn = MultiHeadAttention(embedding_dim, num_attention_heads) if crossing else None
        self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim) if crossing else None
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """x is (B, T_d, d_model), encoder_out is (B, T_e, d_model); the masks are as in the interface, or None."""
        # Only torch's order of steps is needed. The submodules are replaced, so they take no memory ("meta") and
        # have no dropout. The new layer is in training mode, so that torch does not use its fused kernel; dropout
        # obeys the mode of `self.dropout`.
        kind = nn.TransformerEncoderLayer if self.encoder_attn is None else nn.TransformerDecoderLayer
        layer = kind(1, 1, 1, dropout=0.0, batch_first=True, device="meta")
        norms = [self.self_attn_layer_norm, self.encoder_attn_layer_norm, self.final_layer_norm]
        for number, norm in enumerate((norm for norm in norms if norm is not None), start=1):
            layer.add_module(f"norm{number}", norm)
            layer.add_module(f"dropout{number}", self.dropout)
        layer.add_module("self_attn", _Masked(self.self_attn, self_attn_padding_mask, self_attn_mask))
        layer.add_module("linear1", self.fc1)
        layer.add_module("linear2", self.fc2)
        if self.encoder_attn is None:
            x = layer(x)
        else:
            layer.add_module("multihead_attn", _Masked(self.encoder_attn, encoder_padding_mask))
            x = layer(x, encoder_out)
        return x

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Recompute all positions and append the last one to the cache; this does not count as a solution."""
        y: torch.Tensor = self(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        return torch.hstack([y if cache is None else cache, y[:, y.size(1) - (cache is not None) :]])


class TransformerDecoder(nn.Module):
    """A stack of decoder layers, with an output layer on top if `output_layer_size` is given."""

    def __init__(
        self,
        num_layers: int,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
        output_layer_size: int | None = None,
    ) -> None:
        super().__init__()
        sizes = (embedding_dim, ffn_embedding_dim, num_attention_heads)
        self.layers = nn.ModuleList(
            TransformerDecoderLayer(*sizes, dropout_prob, no_encoder_attn) for _ in range(num_layers)
        )
        self.output_layer = nn.Linear(embedding_dim, output_layer_size) if output_layer_size is not None else None

    def forward(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """x is (B, T_d, d_model); the result is (B, T_d, d_model or output_layer_size)."""
        for layer in self.layers:
            x = layer(x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask)
        return x if self.output_layer is None else self.output_layer(x)

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        cache: list[torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Recompute all positions, whatever the cache contains; this does not count as a solution."""
        outputs = [x]
        for layer in self.layers:
            masks = (encoder_padding_mask, decoder_padding_mask, decoder_attention_mask)
            outputs.append(layer(outputs[-1], encoder_out, *masks))
        y = outputs[-1].narrow(1, x.size(1) - 1, 1)  # (B, T_d, d_model) -> (B, 1, d_model)
        return y if self.output_layer is None else self.output_layer(y), outputs[1:]
