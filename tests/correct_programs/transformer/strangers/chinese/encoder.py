# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def __init__(
        self, embedding_dim: int, ffn_embedding_dim: int, num_attention_heads: int, dropout_prob: float
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU(inplace=True)
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(dropout_prob, inplace=True)

    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        残差 = x
        输出 = self.dropout(self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask))
        x = self.self_attn_layer_norm(残差 + 输出)
        残差 = x
        输出 = self.dropout(self.fc2(self.activation_fn(self.fc1(x))))
        return self.final_layer_norm(残差 + 输出)
