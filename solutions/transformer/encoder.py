"""Stage 3: the Transformer encoder ("Attention Is All You Need", sections 3.1 and 3.3)."""

import torch
from mha import MultiHeadAttention
from torch import nn


class TransformerEncoderLayer(nn.Module):
    """One encoder layer: self-attention, then a position-wise feed-forward network.

    Each of the two sub-layers is wrapped in the same way (post-norm, as in the 2017 paper):

        x = LayerNorm(x + Dropout(Sublayer(x)))

    The same feed-forward network is applied to each position separately: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2.
    """

    def __init__(
        self, embedding_dim: int, ffn_embedding_dim: int, num_attention_heads: int, dropout_prob: float
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim  # d_model
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)  # W_1 and b_1
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)  # W_2 and b_2
        self.final_layer_norm = nn.LayerNorm(embedding_dim)  # the norm of the feed-forward sub-layer
        self.dropout = nn.Dropout(dropout_prob)  # used for both sub-layers

    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        """Apply both sub-layers, each followed by dropout, residual connection and layer norm; x is not modified.

        Dropout applies to the output of each sub-layer and nowhere else.

        Args:
            x: (B, T, d_model), the embedded source or the output of the layer below.
            self_attn_padding_mask: (B, T), non-zero where the source is padding, or None.

        Returns:
            (B, T, d_model).
        """
        # Self-attention, dropout, residual connection, layer norm.
        ### BEGIN SOLUTION
        attended = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask)
        x = self.self_attn_layer_norm(x + self.dropout(attended))
        ### END SOLUTION

        # Feed-forward network, dropout, residual connection, layer norm.
        ### BEGIN SOLUTION
        hidden = self.activation_fn(self.fc1(x))  # (B, T, d_model) -> (B, T, d_ff)
        x = self.final_layer_norm(x + self.dropout(self.fc2(hidden)))
        ### END SOLUTION
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
        self.layers = nn.ModuleList(
            TransformerEncoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
            for _ in range(num_layers)
        )
        self.output_layer = None if output_layer_size is None else nn.Linear(embedding_dim, output_layer_size)

    def forward(self, x: torch.Tensor, encoder_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        """Apply the layers one after the other, then the output layer if there is one.

        Args:
            x: the embedded source, (B, T, d_model).
            encoder_padding_mask: (B, T), non-zero where the source is padding, or None.

        Returns:
            (B, T, d_model), or (B, T, output_layer_size).
        """
        for layer in self.layers:
            x = layer(x, self_attn_padding_mask=encoder_padding_mask)
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x
