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
        self._remember(encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        x = self._self_attention(x, x)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            x = self._cross_attention(x)
        x = self._ffn(x)
        return x

    def _remember(self, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask):
        self.memory = encoder_out
        self.memory_mask = encoder_padding_mask
        self.padding = self_attn_padding_mask
        self.mask = self_attn_mask

    def _self_attention(self, x, keys):
        out = self.self_attn(x, keys, keys, key_padding_mask=self.padding, attention_mask=self.mask)
        return self.self_attn_layer_norm(x + self.dropout(out))

    def _cross_attention(self, x):
        out = self.encoder_attn(x, self.memory, self.memory, key_padding_mask=self.memory_mask)
        return self.encoder_attn_layer_norm(x + self.dropout(out))

    def _ffn(self, x):
        return self.final_layer_norm(x + self.dropout(self.fc2(self.activation_fn(self.fc1(x)))))

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
        if self_attn_mask is not None:
            self_attn_mask = self_attn_mask[:, [-1], :]
        self._remember(encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        self.new = self._self_attention(x[:, [-1], :], x)
        if self.encoder_attn is not None:
            self.new = self._cross_attention(self.new)
        self.new = self._ffn(self.new)
        return torch.cat([cache, self.new], 1)


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
        self.new_cache = []
        for n in range(len(self.layers)):
            x = self.layers[n].forward_one_step_ec(
                x=x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
                cache=cache[n] if cache is not None else None,
            )
            self.new_cache.append(x)
        new_cache = self.new_cache
        y = new_cache[-1][:, -1:, :]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
