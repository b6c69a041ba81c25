# Differs from the solution in:

from encoder import position_wise, residual


def newest(x):
    return x[:, -1:]


def append(cache, new):
    return new if cache is None else torch.cat((cache, new), dim=1)


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
        x = residual(x, y, self.dropout, self.self_attn_layer_norm)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            y = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
            x = residual(x, y, self.dropout, self.encoder_attn_layer_norm)
        y = position_wise(x, self.fc1, self.activation_fn, self.fc2)
        x = residual(x, y, self.dropout, self.final_layer_norm)
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
        new = x if cache is None else newest(x)
        if cache is not None and self_attn_mask is not None:
            self_attn_mask = newest(self_attn_mask)
        y = self.self_attn(new, x, x, self_attn_padding_mask, self_attn_mask)
        new = residual(new, y, self.dropout, self.self_attn_layer_norm)
        if self.encoder_attn is not None:
            y = self.encoder_attn(new, encoder_out, encoder_out, encoder_padding_mask)
            new = residual(new, y, self.dropout, self.encoder_attn_layer_norm)
        y = position_wise(new, self.fc1, self.activation_fn, self.fc2)
        new = residual(new, y, self.dropout, self.final_layer_norm)
        return append(cache, new)


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
        for number, layer in enumerate(self.layers):
            x = layer.forward_one_step_ec(
                x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
                cache=cache and cache[number],
            )
            new_cache.append(x)
        y = newest(x)
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
