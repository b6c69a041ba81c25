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
        x = self.self_attn_layer_norm(self.dropout(self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)) + x)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            x = self.encoder_attn_layer_norm(
                self.dropout(self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)) + x
            )
        x = self.final_layer_norm(self.dropout(self.fc2(self.activation_fn(self.fc1(x)))) + x)
        return x
