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
        attended = self.self_attn(
            x, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask
        )
        x = self.self_attn_layer_norm(x + self.dropout(attended))

        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            attended = self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)
            x = self.encoder_attn_layer_norm(x + self.dropout(attended))

        hidden = self.fc2(self.activation_fn(self.fc1(x)))
        x = self.final_layer_norm(x + self.dropout(hidden))
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
        B, T, D = x.shape
        start = 0 if cache is None else T - 1
        out = x.new_empty(B, T, D)
        if cache is not None:
            out[:, :start] = cache
        q = x[:, start:]
        m = None if self_attn_mask is None else self_attn_mask[:, start:]
        q = self.self_attn_layer_norm(q + self.dropout(self.self_attn(q, x, x, self_attn_padding_mask, m)))
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            q = self.encoder_attn_layer_norm(
                q + self.dropout(self.encoder_attn(q, encoder_out, encoder_out, encoder_padding_mask))
            )
        out[:, start:] = self.final_layer_norm(q + self.dropout(self.fc2(self.activation_fn(self.fc1(q)))))
        return out


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
