# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        y = torch.native_dropout(self.self_attn(x, x, x, self_attn_padding_mask), self.dropout.p, self.training)[0]
        x = self.self_attn_layer_norm(x + y)
        y = torch.native_dropout(self.fc2(self.activation_fn(self.fc1(x))), self.dropout.p, self.training)[0]
        return self.final_layer_norm(x + y)
