# Differs from the solution in:

from mha import MultiHeadAttention, ausfall


class TransformerDecoderLayer(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        attended = self.self_attn(
            x, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask
        )
        x = self.self_attn_layer_norm(x + ausfall(attended, self.dropout.p, self.training))

        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            attended = self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)
            x = self.encoder_attn_layer_norm(x + ausfall(attended, self.dropout.p, self.training))

        hidden = self.fc2(self.activation_fn(self.fc1(x)))
        x = self.final_layer_norm(x + ausfall(hidden, self.dropout.p, self.training))
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
        last = x
        if cache is not None:
            last = x[:, -1:]
            if self_attn_mask is not None:
                self_attn_mask = self_attn_mask[:, -1:]
        attended = self.self_attn(
            last, x, x, key_padding_mask=self_attn_padding_mask, attention_mask=self_attn_mask
        )
        y = self.self_attn_layer_norm(last + ausfall(attended, self.dropout.p, self.training))
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            attended = self.encoder_attn(y, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)
            y = self.encoder_attn_layer_norm(y + ausfall(attended, self.dropout.p, self.training))
        y = self.final_layer_norm(y + self.dropout(self.fc2(self.activation_fn(self.fc1(y)))))
        return y if cache is None else torch.cat([cache, y], dim=1)
