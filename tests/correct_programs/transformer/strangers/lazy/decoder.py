# Differs from the solution in:

class TransformerDecoderLayer(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        attn = self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)
        x = self.self_attn_layer_norm(x + self.dropout(attn))
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            attn = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
            x = self.encoder_attn_layer_norm(x + self.dropout(attn))
        x = self.final_layer_norm(x + self.dropout(self.fc2(self.activation_fn(self.fc1(x)))))
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
        is_first = cache is None
        new = x if is_first else x[:, -1:]
        mask = self_attn_mask if is_first or self_attn_mask is None else self_attn_mask[:, -1:]
        new = self.self_attn_layer_norm(new + self.dropout(self.self_attn(new, x, x, self_attn_padding_mask, mask)))
        if self.encoder_attn is not None:
            attn = self.encoder_attn(new, encoder_out, encoder_out, encoder_padding_mask)
            new = self.encoder_attn_layer_norm(new + self.dropout(attn))
        new = self.final_layer_norm(new + self.dropout(self.fc2(self.activation_fn(self.fc1(new)))))
        return new if is_first else torch.concat((cache, new), dim=1)


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

        def outputs(x):
            for i, layer in enumerate(self.layers):
                x = layer.forward_one_step_ec(
                    x,
                    encoder_out,
                    encoder_padding_mask,
                    decoder_padding_mask,
                    decoder_attention_mask,
                    cache[i] if cache is not None else None,
                )
                yield x

        new_cache = list(outputs(x))
        y = new_cache[-1][:, -1:]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
