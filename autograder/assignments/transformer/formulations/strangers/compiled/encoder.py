import torch
from mha import MultiHeadAttention
from torch import nn
def feed_forward(x, w1, b1, w2, b2):
    return torch.addmm(b2, torch.relu(torch.addmm(b1, x.flatten(0, 1), w1.t())), w2.t()).view(x.shape)


fast_feed_forward = torch.compile(feed_forward)


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
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, x, x, self_attn_padding_mask)))
        y = fast_feed_forward(x, self.fc1.weight, self.fc1.bias, self.fc2.weight, self.fc2.bias)
        return self.final_layer_norm(x + self.dropout(y))


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
