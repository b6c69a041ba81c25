# Differs from the solution in:

from torch.nn import functional as F


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
        self.encoder_attn = None if no_encoder_attn else MultiHeadAttention(embedding_dim, num_attention_heads)
        self.encoder_attn_layer_norm = None if no_encoder_attn else nn.LayerNorm(embedding_dim)
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
        return self._look(x, x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        known = 0 if cache is None else cache.shape[1]
        mask = None if self_attn_mask is None else self_attn_mask[:, known:]
        new = self._look(x[:, known:], x, encoder_out, encoder_padding_mask, self_attn_padding_mask, mask)
        return new if cache is None else torch.cat((cache, new), dim=1)

    def _look(
        self,
        queries: torch.Tensor,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None,
        encoder_padding_mask: torch.Tensor | None,
        padding_mask: torch.Tensor | None,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Take queries (B, T, d_model) through the sub-layers; they look at x, (B, T_d, d_model)."""
        # (B, T_d) and (1 or B, T, T_d) -> (B, T, T_d): one mask that says both
        merged = None if padding_mask is None else padding_mask.ne(0)[:, None].expand(-1, queries.shape[1], -1)
        if mask is not None:
            merged = mask.ne(0) if merged is None else merged | mask.ne(0)
        y = self._add_and_norm(self.self_attn_layer_norm, self.self_attn(queries, x, x, None, merged), queries)
        if self.encoder_attn is not None:
            crossed = self.encoder_attn(y, encoder_out, encoder_out, encoder_padding_mask)
            y = self._add_and_norm(self.encoder_attn_layer_norm, crossed, y)
        hidden = (torch.einsum("btm,fm->btf", y, self.fc1.weight) + self.fc1.bias).clamp(min=0.0)
        output = torch.einsum("btf,mf->btm", hidden, self.fc2.weight) + self.fc2.bias
        return self._add_and_norm(self.final_layer_norm, output, y)

    def _add_and_norm(self, norm: nn.LayerNorm | None, output: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        assert norm is not None
        return F.layer_norm(
            self.dropout(output) + residual, (self.embedding_dim,), norm.weight, norm.bias, eps=norm.eps
        )


class TransformerDecoder(nn.Module):
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
        super().__init__()
        layers = [
            TransformerDecoderLayer(
                embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob, no_encoder_attn
            )
            for _ in range(num_layers)
        ]
        self.layers = nn.ModuleList(layers)
        self.output_layer = nn.Linear(embedding_dim, output_layer_size) if output_layer_size else None

    def forward(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask)
        return self.output_layer(x) if self.output_layer else x

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        cache: list[torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        states = [x]  # the input of the stack and the output of each layer
        masks = (encoder_padding_mask, decoder_padding_mask, decoder_attention_mask)
        for i, layer in enumerate(self.layers):
            assert isinstance(layer, TransformerDecoderLayer)
            known = cache[i] if cache else None
            states.append(layer.forward_one_step_ec(states[-1], encoder_out, *masks, known))
        last = states[-1][:, -1][:, None]  # (B, T_d, d_model) -> (B, d_model) -> (B, 1, d_model)
        return (self.output_layer(last) if self.output_layer else last), states[1:]
