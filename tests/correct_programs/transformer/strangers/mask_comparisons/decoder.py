# Differs from the solution in:

from functools import partial, reduce
from itertools import accumulate, repeat
from encoder import compose


class TransformerDecoderLayer(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        steps = self._steps(None, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            pass
        x = reduce(lambda z, step: step(z), steps, x)
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
        row = None if self_attn_mask is None else self_attn_mask[:, -1:]
        steps = self._steps(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, row)
        return torch.cat([cache, reduce(lambda z, step: step(z), steps, x[:, -1:])], dim=1)

    def _steps(self, keys, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask):
        wrap = lambda f, norm: lambda z: norm(z + self.dropout(f(z)))
        keys_of = (lambda z: z) if keys is None else lambda z: keys
        steps = [
            wrap(
                lambda z: self.self_attn(z, keys_of(z), keys_of(z), self_attn_padding_mask, self_attn_mask),
                self.self_attn_layer_norm,
            )
        ]
        if self.encoder_attn is not None:
            cross = lambda z: self.encoder_attn(z, encoder_out, encoder_out, encoder_padding_mask)
            steps.append(wrap(cross, self.encoder_attn_layer_norm))
        steps.append(wrap(compose(self.fc1, self.activation_fn, self.fc2), self.final_layer_norm))
        return steps


def one_step(x, layer, cache, **masks):
    return layer.forward_one_step_ec(x, cache=cache, **masks)


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
        caches = repeat(None) if cache is None else cache
        step = partial(
            one_step,
            encoder_out=encoder_out,
            encoder_padding_mask=encoder_padding_mask,
            self_attn_padding_mask=decoder_padding_mask,
            self_attn_mask=decoder_attention_mask,
        )
        new_cache = list(accumulate(zip(self.layers, caches), lambda z, pair: step(z, *pair), initial=x))[1:]
        y = new_cache[-1][:, -1:]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
