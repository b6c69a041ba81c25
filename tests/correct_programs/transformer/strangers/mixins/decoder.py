# Differs from the solution in:

from mha import MultiHeadAttention, ResidualMixin


class TransformerDecoderLayer(ResidualMixin, nn.Module):
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

    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        x = self.residual(self.self_attn_layer_norm, x, self.self_attn, x, x, self_attn_padding_mask, self_attn_mask)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            x = self.residual(
                self.encoder_attn_layer_norm, x, self.encoder_attn, encoder_out, encoder_out, encoder_padding_mask
            )
        x = self.residual(self.final_layer_norm, x, self.ffn)
        return x

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        y = x
        if cache is not None:
            y = x[:, -1:]
            self_attn_mask = self_attn_mask[:, -1:] if self_attn_mask is not None else None
        y = self.residual(self.self_attn_layer_norm, y, self.self_attn, x, x, self_attn_padding_mask, self_attn_mask)
        if self.encoder_attn is not None:
            y = self.residual(
                self.encoder_attn_layer_norm, y, self.encoder_attn, encoder_out, encoder_out, encoder_padding_mask
            )
        y = self.residual(self.final_layer_norm, y, self.ffn)
        if cache is None:
            return y
        return torch.cat([cache, y], dim=1)


class TransformerDecoder(nn.Module):
    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        cache: list[torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        arguments = (encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask)
        new_cache = []
        for i in range(len(self.layers)):
            x = self.layers[i].forward_one_step_ec(x, *arguments, None if cache is None else cache[i])
            new_cache.append(x)
        y = x[:, -1:]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
