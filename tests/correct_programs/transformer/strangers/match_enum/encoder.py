# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        attended = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask)
        x = self.self_attn_layer_norm(x + self.dropout(attended))

        hidden = self.fc2(self.activation_fn(self.fc1(x)))
        x = self.final_layer_norm(x + self.dropout(hidden))
        return x
