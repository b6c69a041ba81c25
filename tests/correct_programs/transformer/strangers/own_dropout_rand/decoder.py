# Differs from the solution in:

from encoder import my_dropout, my_layer_norm


class TransformerDecoderLayer(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        y = self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)
        x = my_layer_norm(x + my_dropout(y, self.dropout.p, self.training), self.self_attn_layer_norm)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            y = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
            x = my_layer_norm(x + my_dropout(y, self.dropout.p, self.training), self.encoder_attn_layer_norm)
        y = self.fc2(self.fc1(x).clamp(min=0))
        x = my_layer_norm(x + my_dropout(y, self.dropout.p, self.training), self.final_layer_norm)
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
        p, training = (self.dropout.p, self.training)
        last = x if cache is None else x[:, -1:, :]
        mask = self_attn_mask
        if mask is not None and cache is not None:
            mask = mask[:, -1:, :]
        y = self.self_attn(last, x, x, self_attn_padding_mask, mask)
        y1 = my_layer_norm(last + my_dropout(y, p, training), self.self_attn_layer_norm)
        if self.encoder_attn is None:
            y2 = y1
        else:
            y = self.encoder_attn(y1, encoder_out, encoder_out, encoder_padding_mask)
            y2 = my_layer_norm(y1 + my_dropout(y, p, training), self.encoder_attn_layer_norm)
        y = self.fc2(self.fc1(y2).clamp(min=0))
        y3 = my_layer_norm(y2 + my_dropout(y, p, training), self.final_layer_norm)
        return torch.cat([cache, y3], dim=1) if cache is not None else y3


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
        new_cache = []
        y = x
        for i, layer in enumerate(self.layers):
            layer_cache = cache[i] if cache is not None else None
            y = layer.forward_one_step_ec(
                y, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask, layer_cache
            )
            new_cache.append(y)
        y = y[:, -1:, :]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
