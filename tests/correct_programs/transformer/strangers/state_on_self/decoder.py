# Differs from the solution in:

class TransformerDecoderLayer(nn.Module):
    def _first(self):
        y = self.self_attn(self._now, self._keys, self._keys, self._keys_mask, self._pairs)
        self._now = self.self_attn_layer_norm(self._now + self.dropout(y))

    def _second(self):
        if self.encoder_attn is not None:
            y = self.encoder_attn(self._now, self._memory, self._memory, self._memory_mask)
            self._now = self.encoder_attn_layer_norm(self._now + self.dropout(y))

    def _third(self):
        y = self.fc2(self.activation_fn(self.fc1(self._now)))
        self._now = self.final_layer_norm(self._now + self.dropout(y))

    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        return self.forward_one_step_ec(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask, None)

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        self._memory, self._memory_mask = encoder_out, encoder_padding_mask
        self._keys, self._keys_mask = x, self_attn_padding_mask
        self._pairs = self_attn_mask
        self._now = x
        if cache is not None:
            self._now = x[:, -1:]
            self._pairs = self_attn_mask if self_attn_mask is None else self_attn_mask[:, -1:]
        self._first()
        self._second()
        self._third()
        y = self._now
        self._memory = self._memory_mask = self._keys = self._keys_mask = self._pairs = self._now = None
        return y if cache is None else torch.cat([cache, y], dim=1)


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
        old = {} if cache is None else dict(enumerate(cache))
        new = {}
        for i, layer in enumerate(self.layers):
            below = new[i - 1] if i > 0 else x
            new[i] = layer.forward_one_step_ec(
                below, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask, old.get(i)
            )
        y = new[len(self.layers) - 1].narrow(1, x.size(1) - 1, 1)
        if self.output_layer is not None:
            y = self.output_layer(y)
        return y, list(new.values())
