# Differs from the solution in:

from functools import partial, reduce


class TransformerDecoderLayer(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        return self._sublayers(
            partial(self.self_attn, key=x, value=x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask),
            encoder_out,
            encoder_padding_mask,
            x,
        )

    def _sublayers(self, ask, memory, memory_padding, x):
        steps = [(self.self_attn_layer_norm, ask)]
        if self.encoder_attn is not None:
            cross = partial(self.encoder_attn, key=memory, value=memory, key_padding_mask=memory_padding)
            steps += [(self.encoder_attn_layer_norm, cross)]
        steps += [(self.final_layer_norm, nn.Sequential(self.fc1, self.activation_fn, self.fc2))]
        return reduce(lambda t, step: step[0](torch.add(t, self.dropout(step[1](t)))), steps, x)

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
            return self(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        pairs = self_attn_mask[:, -1:, :] if self_attn_mask is not None else None
        ask = partial(self.self_attn, key=x, value=x, key_padding_mask=self_attn_padding_mask, attention_mask=pairs)
        return torch.cat([cache, self._sublayers(ask, encoder_out, encoder_padding_mask, x[:, -1:, :])], dim=1)
