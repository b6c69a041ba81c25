# Differs from the solution in:

class TransformerDecoderLayer(nn.Module):

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
