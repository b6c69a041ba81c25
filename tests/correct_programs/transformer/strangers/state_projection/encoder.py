# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        self.mask = self_attn_padding_mask
        self.residual = x
        x = self.attend(x)
        x = self.add_and_norm(x, self.self_attn_layer_norm)
        self.residual = x
        x = self.feed_forward(x)
        x = self.add_and_norm(x, self.final_layer_norm)
        return x

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        return self.self_attn(x, x, x, key_padding_mask=self.mask)

    def feed_forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.activation_fn(self.fc1(x)))

    def add_and_norm(self, x: torch.Tensor, norm: nn.LayerNorm) -> torch.Tensor:
        x = norm(self.residual + self.dropout(x))
        self.residual = None
        return x
