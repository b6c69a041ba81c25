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
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)))
        if self.encoder_attn is not None:
            x = self.encoder_attn_layer_norm(
                x + self.dropout(self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask))
            )
        return self.final_layer_norm(x + nn.Sequential(self.fc1, self.activation_fn, self.fc2, self.dropout)(x))

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        ask = slice(None) if cache is None else slice(-1, None)
        queries = x[:, ask]
        pairs = self_attn_mask[:, ask] if self_attn_mask is not None else None
        y = self.self_attn_layer_norm(queries + self.dropout(self.self_attn(queries, x, x, self_attn_padding_mask, pairs)))
        if self.encoder_attn is not None:
            y = self.encoder_attn_layer_norm(
                y + self.dropout(self.encoder_attn(y, encoder_out, encoder_out, encoder_padding_mask))
            )
        y = self.final_layer_norm(y + nn.Sequential(self.fc1, self.activation_fn, self.fc2, self.dropout)(y))
        return torch.cat([*([] if cache is None else [cache]), y], dim=1)
