# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def _drop(self, y: torch.Tensor) -> torch.Tensor:
        p = self.dropout.p
        if not self.training or p == 0.0:
            return y
        scale = torch.empty_like(y).bernoulli_(1 - p)
        if p < 1.0:
            scale.div_(1 - p)
        return y * scale

    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        y = self._drop(self.self_attn(x, x, x, self_attn_padding_mask))
        x = self.self_attn_layer_norm(x + y)
        y = self._drop(self.fc2(self.activation_fn(self.fc1(x))))
        return self.final_layer_norm(x + y)
