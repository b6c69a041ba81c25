import torch
from mha import MultiHeadAttention
from torch import nn
from functools import partial, reduce

from torch.nn.functional import dropout


class TransformerEncoderLayer(nn.Module):

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
        drop = partial(dropout, p=self.dropout.p, training=self.training)
        attend = partial(self.self_attn, key_padding_mask=self_attn_padding_mask)
        sublayers = [
            (self.self_attn_layer_norm, lambda t: attend(t, t, t)),
            (self.final_layer_norm, lambda t: self.fc2(self.activation_fn(self.fc1(t)))),
        ]
        return reduce(lambda t, s: s[0](t + drop(s[1](t))), sublayers, x)


class TransformerEncoder(nn.Module):

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
        layers = (partial(layer, self_attn_padding_mask=encoder_padding_mask) for layer in self.layers)
        x = reduce(lambda t, layer: layer(t), layers, x)
        return x if self.output_layer is None else self.output_layer(x)
