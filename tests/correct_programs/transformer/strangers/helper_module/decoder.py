# Differs from the solution in:

import mha as m


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
        self.self_attn = m.MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.encoder_attn: m.MultiHeadAttention | None = None
        self.encoder_attn_layer_norm: nn.LayerNorm | None = None
        if not no_encoder_attn:
            self.encoder_attn = m.MultiHeadAttention(embedding_dim, num_attention_heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim)
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
        x = m.add_and_norm(
            x, self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask), self.self_attn_layer_norm, self.dropout
        )
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            y = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
            x = m.add_and_norm(x, y, self.encoder_attn_layer_norm, self.dropout)
        return m.add_and_norm(x, m.ffn(self, x), self.final_layer_norm, self.dropout)
