# Differs from the solution in:

def my_dropout(x: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    if not training or p == 0.0:
        return x
    if p == 1.0:
        return torch.zeros_like(x)
    keep = torch.rand(x.shape, device=x.device) >= p
    return x * keep / (1.0 - p)


def my_layer_norm(x: torch.Tensor, norm: nn.LayerNorm) -> torch.Tensor:
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + norm.eps) * norm.weight + norm.bias


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        y = self.self_attn(x, x, x, self_attn_padding_mask)
        y = my_dropout(y, self.dropout.p, self.training)
        x = my_layer_norm(x + y, self.self_attn_layer_norm)
        y = self.fc1(x)
        y = self.fc2(y.clamp(min=0))
        y = my_dropout(y, self.dropout.p, self.training)
        x = my_layer_norm(x + y, self.final_layer_norm)
        return x
