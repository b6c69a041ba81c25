# Differs from the solution in:

class TransformerDecoderLayer(nn.Module):
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
        self.encoder_attn: MultiHeadAttention | None = None
        self.encoder_attn_layer_norm: nn.LayerNorm | None = None
        if not no_encoder_attn:
            self.encoder_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(dropout_prob)
        self.dropouts = nn.ModuleList(nn.Dropout(dropout_prob) for _ in range(3))

    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        x = self.self_attn_layer_norm(
            x + self.dropouts[0](self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask))
        )
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            x = self.encoder_attn_layer_norm(
                x + self.dropouts[1](self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask))
            )
        return self.final_layer_norm(x + self.dropouts[2](self.fc2(self.activation_fn(self.fc1(x)))))
