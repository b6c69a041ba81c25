import torch
from mha import SelfAttention
from torch import nn


class TransformerLayer(nn.Module):
    def __init__(
        self, embedding_dim: int, ffn_embedding_dim: int, num_attention_heads: int, dropout_prob: float
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = SelfAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(dropout_prob)

    def add_norm(self, x: torch.Tensor, y: torch.Tensor, norm: nn.LayerNorm) -> torch.Tensor:
        return norm(x + self.dropout(y))

    def self_attention(self, x, padding_mask=None, attention_mask=None, keys=None):
        return self.add_norm(x, self.self_attn(x, padding_mask, attention_mask, keys), self.self_attn_layer_norm)

    def feed_forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.add_norm(x, self.fc2(self.activation_fn(self.fc1(x))), self.final_layer_norm)


class TransformerEncoderLayer(TransformerLayer):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.feed_forward(self.self_attention(x, self_attn_padding_mask))


class TransformerStack(nn.Module):
    def __init__(self, layers, embedding_dim: int, output_layer_size: int | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.output_layer = None if output_layer_size is None else nn.Linear(embedding_dim, output_layer_size)

    def output(self, x: torch.Tensor) -> torch.Tensor:
        return x if self.output_layer is None else self.output_layer(x)


class TransformerEncoder(TransformerStack):
    def __init__(
        self,
        num_layers: int,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        output_layer_size: int | None = None,
    ) -> None:
        sizes = (embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
        layers = [TransformerEncoderLayer(*sizes) for _ in range(num_layers)]
        super().__init__(layers, embedding_dim, output_layer_size)

    def forward(self, x: torch.Tensor, encoder_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, self_attn_padding_mask=encoder_padding_mask)
        return self.output(x)
