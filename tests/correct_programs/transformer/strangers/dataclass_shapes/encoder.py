# Differs from the solution in:

from dataclasses import dataclass


@dataclass
class LayerConfig:
    embedding_dim: int
    ffn_embedding_dim: int
    num_attention_heads: int
    dropout_prob: float = 0.1

    def __post_init__(self):
        assert 0 <= self.dropout_prob <= 1


class TransformerEncoderLayer(nn.Module):
    def __init__(
        self, embedding_dim: int, ffn_embedding_dim: int, num_attention_heads: int, dropout_prob: float
    ) -> None:
        super().__init__()
        cfg = LayerConfig(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
        self.cfg = cfg
        self.embedding_dim = cfg.embedding_dim
        self.self_attn = MultiHeadAttention(cfg.embedding_dim, cfg.num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(cfg.embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(cfg.embedding_dim, cfg.ffn_embedding_dim)
        self.fc2 = nn.Linear(cfg.ffn_embedding_dim, cfg.embedding_dim)
        self.final_layer_norm = nn.LayerNorm(cfg.embedding_dim)
        self.dropout = nn.Dropout(cfg.dropout_prob)

    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        assert x.ndim == 3 and x.shape[-1] == self.cfg.embedding_dim, x.shape
        if self_attn_padding_mask is not None:
            assert self_attn_padding_mask.shape == x.shape[:2]
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, x, x, self_attn_padding_mask)))
        y = self.final_layer_norm(x + self.dropout(self.fc2(self.activation_fn(self.fc1(x)))))
        assert y.shape == x.shape
        return y
