# Differs from the solution in:

from encoder import TransformerEncoder, TransformerEncoderLayer


class TransformerDecoderLayer(TransformerEncoderLayer):

    def __init__(
        self,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
    ) -> None:
        super().__init__(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
        self.encoder_attn = None
        self.encoder_attn_layer_norm = None
        if not no_encoder_attn:
            self.encoder_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim)

    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        return self.forward_one_step_ec(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        first = cache.size(1) if cache is not None else 0
        rows = None if self_attn_mask is None else self_attn_mask[:, first:]
        y = self.self_attn(x[:, first:], x, x, key_padding_mask=self_attn_padding_mask, attention_mask=rows)
        y = self.self_attn_layer_norm(x[:, first:] + self.dropout(y))
        if self.encoder_attn is not None:
            z = self.encoder_attn(y, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)
            y = self.encoder_attn_layer_norm(y + self.dropout(z))
        y = self.final_layer_norm(y + self.dropout(self.fc2(self.activation_fn(self.fc1(y)))))
        return y if cache is None else torch.cat((cache, y), dim=1)


class TransformerDecoder(TransformerEncoder):

    def __init__(
        self,
        num_layers: int,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
        output_layer_size: int | None = None,
    ) -> None:
        super().__init__(num_layers, embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob, output_layer_size)
        self.layers = nn.ModuleList(
            TransformerDecoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob, no_encoder_attn)
            for _ in range(num_layers)
        )

    def forward(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        for layer in self.layers:
            x = layer(
                x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
            )
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        cache: list[torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        new_cache = []
        for i, layer in enumerate(self.layers):
            x = layer.forward_one_step_ec(
                x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
                cache=None if cache is None else cache[i],
            )
            new_cache.append(x)
        y = x[:, -1:]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return y, new_cache
