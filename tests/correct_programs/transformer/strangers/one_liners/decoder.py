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
        return self.final_layer_norm((y := self.encoder_attn_layer_norm((z := self.self_attn_layer_norm(x + nn.functional.dropout(self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask), self.dropout.p, self.training))) + nn.functional.dropout(self.encoder_attn(z, encoder_out, encoder_out, encoder_padding_mask), self.dropout.p, self.training)) if self.encoder_attn else self.self_attn_layer_norm(x + nn.functional.dropout(self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask), self.dropout.p, self.training))) + nn.functional.dropout(self.fc2(self.activation_fn(self.fc1(y))), self.dropout.p, self.training))

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        d = lambda t: nn.functional.dropout(t, self.dropout.p, self.training)
        n, a = (0, self_attn_mask) if cache is None else (cache.size(1), self_attn_mask if self_attn_mask is None else self_attn_mask[:, cache.size(1):])
        y = self.self_attn_layer_norm(x[:, n:] + d(self.self_attn(x[:, n:], x, x, self_attn_padding_mask, a))); y = self.encoder_attn_layer_norm(y + d(self.encoder_attn(y, encoder_out, encoder_out, encoder_padding_mask))) if self.encoder_attn else y
        return torch.cat([t for t in (cache, self.final_layer_norm(y + d(self.fc2(self.activation_fn(self.fc1(y)))))) if t is not None], 1)


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
        new_cache = [x := layer.forward_one_step_ec(x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask, c) for layer, c in zip(self.layers, cache or [None] * len(self.layers))]
        return (self.output_layer(x[:, -1:]) if self.output_layer else x[:, -1:]), new_cache
