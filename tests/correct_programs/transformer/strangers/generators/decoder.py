# Differs from the solution in:


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
        def grow(x):
            given = iter(cache if cache is not None else ())
            for layer in self.layers:
                x = layer.forward_one_step_ec(
                    x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask, cache=next(given, None)
                )
                yield x

        new_cache = list(grow(x))
        y = new_cache[-1][:, -1:]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return y, new_cache
