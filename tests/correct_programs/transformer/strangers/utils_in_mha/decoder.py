# Differs from the solution in:

from mha import MultiHeadAttention, add_norm, ffn, last


class TransformerDecoderLayer(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        attention = self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)
        x = add_norm(x, attention, self.self_attn_layer_norm, self.dropout)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            attention = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
            x = add_norm(x, attention, self.encoder_attn_layer_norm, self.dropout)
        x = add_norm(x, ffn(self, x), self.final_layer_norm, self.dropout)
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
        keys, query = (x, x)
        if cache is not None:
            query = last(x)
            self_attn_mask = last(self_attn_mask) if self_attn_mask is not None else None
        attention = self.self_attn(query, keys, keys, self_attn_padding_mask, self_attn_mask)
        query = add_norm(query, attention, self.self_attn_layer_norm, self.dropout)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            attention = self.encoder_attn(query, encoder_out, encoder_out, encoder_padding_mask)
            query = add_norm(query, attention, self.encoder_attn_layer_norm, self.dropout)
        query = add_norm(query, ffn(self, query), self.final_layer_norm, self.dropout)
        return query if cache is None else torch.cat([cache, query], dim=1)


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
        caches = [None] * len(self.layers) if cache is None else cache
        new_cache = []
        for layer, layer_cache in zip(self.layers, caches):
            x = layer.forward_one_step_ec(
                x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask, layer_cache
            )
            new_cache += [x]
        y = last(x)
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
