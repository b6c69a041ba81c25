# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        a = self.self_attn(x, x, x, self_attn_padding_mask)
        a = torch.dropout(a, self.dropout.p, self.training)
        h = self.self_attn_layer_norm(a + x)
        f = self.fc2(torch.relu(self.fc1(h)))
        f = torch.dropout(f, self.dropout.p, self.training)
        return self.final_layer_norm(f + h)
