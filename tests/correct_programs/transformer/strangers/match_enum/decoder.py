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
        return self._run(x, x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)

    def _run(self, q, x, encoder_out, encoder_padding_mask, padding, pairs):
        for step in ("self", "cross", "ffn"):
            match step:
                case "self":
                    norm, y = self.self_attn_layer_norm, self.self_attn(q, x, x, padding, pairs)
                case "cross" if self.encoder_attn is None:
                    continue
                case "cross":
                    norm = self.encoder_attn_layer_norm
                    y = self.encoder_attn(q, encoder_out, encoder_out, encoder_padding_mask)
                case "ffn":
                    norm, y = self.final_layer_norm, self.fc2(self.activation_fn(self.fc1(q)))
            q = norm(q + self.dropout(y))
        return q

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        match cache, self_attn_mask:
            case None, _:
                return self._run(x, x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
            case _, None:
                rows = None
            case _, mask:
                rows = mask[..., -1:, :]
        new = self._run(x[..., -1:, :], x, encoder_out, encoder_padding_mask, self_attn_padding_mask, rows)
        return torch.cat([cache, new], dim=-2)
