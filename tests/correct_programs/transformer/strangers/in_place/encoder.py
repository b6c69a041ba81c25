# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        y = self.dropout(self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask))
        y += x
        x = self.self_attn_layer_norm(y)
        y = self.fc1(x).relu_()
        y = self.dropout(self.fc2(y))
        y += x
        x = self.final_layer_norm(y)
        return x
