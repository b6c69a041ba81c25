# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        y = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask)
        torch.dropout_(y, self.dropout.p, self.training)
        y += x
        x = self.self_attn_layer_norm(y)
        y = self.fc2(self.fc1(x).relu_())
        torch.dropout_(y, self.dropout.p, self.training)
        y += x
        return self.final_layer_norm(y)
