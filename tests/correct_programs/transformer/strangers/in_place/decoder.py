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
        y = self.dropout(
            self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask)
        )
        y += x
        x = self.self_attn_layer_norm(y)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            y = self.dropout(self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask))
            y += x
            x = self.encoder_attn_layer_norm(y)
        y = self.fc1(x).relu_()
        y = self.dropout(self.fc2(y))
        y.add_(x)
        x = self.final_layer_norm(y)
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
        if cache is None:
            return self.forward(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        last = x[:, -1:]
        if self_attn_mask is not None:
            self_attn_mask = self_attn_mask[:, -1:]
        y = self.dropout(
            self.self_attn(last, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask)
        )
        y += last
        y = self.self_attn_layer_norm(y)
        if self.encoder_attn is not None:
            z = self.dropout(self.encoder_attn(y, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask))
            z += y
            y = self.encoder_attn_layer_norm(z)
        z = self.dropout(self.fc2(self.fc1(y).relu_()))
        z += y
        result = x.new_zeros(x.shape)
        result[:, :-1] += cache
        result[:, -1:] += self.final_layer_norm(z)
        return result


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
        new_cache = [] if cache is None else list(cache)
        for i, layer in enumerate(self.layers):
            x = layer.forward_one_step_ec(
                x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
                cache=None if cache is None else new_cache[i],
            )
            if cache is None:
                new_cache.append(x)
            else:
                new_cache[i] = x
        y = x[:, -1:]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
