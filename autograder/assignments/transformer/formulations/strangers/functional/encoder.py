import torch
from mha import MultiHeadAttention
from torch import nn
from torch.nn.functional import dropout, layer_norm, linear, relu


def norm(x, module):
    return layer_norm(x, (x.size(-1),), module.weight, module.bias, module.eps)


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
        def drop(y):
            return dropout(y, self.dropout.p, self.training)

        x = norm(x + drop(self.self_attn(x, x, x, self_attn_padding_mask)), self.self_attn_layer_norm)
        h = relu(linear(x, self.fc1.weight, self.fc1.bias))
        return norm(x + drop(linear(h, self.fc2.weight, self.fc2.bias)), self.final_layer_norm)


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
        for layer in self.layers:
            x = layer(x, self_attn_padding_mask=encoder_padding_mask)
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x
