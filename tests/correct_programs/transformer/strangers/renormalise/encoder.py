# Differs from the solution in:

def drop(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    if training and p > 0:
        keep = torch.bernoulli(torch.full_like(x, 1 - p))
        x = x * keep / max(1 - p, 1e-12)
    return x


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        p = self.dropout.p
        y = x + drop(self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask), p, self.training)
        y = self.self_attn_layer_norm(y)
        z = y + drop(self.fc2(self.activation_fn(self.fc1(y))), p, self.training)
        return self.final_layer_norm(z)
