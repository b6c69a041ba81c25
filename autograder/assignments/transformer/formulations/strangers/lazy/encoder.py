import os
import sys
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mha import MultiHeadAttention
from torch import nn


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
        x2 = self.self_attn(x, x, x, self_attn_padding_mask)
        x = self.self_attn_layer_norm(x + self.dropout(x2))
        x2 = self.fc2(self.activation_fn(self.fc1(x)))
        x = self.final_layer_norm(x + self.dropout(x2))
        return x


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
            (
                TransformerEncoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
                for _ in range(num_layers)
            )
        )
        self.output_layer = None if output_layer_size is None else nn.Linear(embedding_dim, output_layer_size)

    def forward(self, x: torch.Tensor, encoder_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, self_attn_padding_mask=encoder_padding_mask)
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x


def main():
    torch.manual_seed(0)
    encoder = TransformerEncoder(2, 8, 16, 2).eval()
    x = torch.randn(2, 5, 8)
    mask = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]])
    assert torch.allclose(encoder(x, mask)[1, :3], encoder(x[1:, :3])[0], atol=1e-05)
    print("encoder: ok")


if __name__ == "__main__":
    main()
