# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        print(f"{self.__class__.__name__}: {tuple(x.shape)}, training={self.training}")
        attended = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask)
        assert attended.shape == x.shape
        x = self.self_attn_layer_norm(x + self.dropout(attended))
        hidden = self.fc1(x)
        hidden = self.activation_fn(hidden)
        print("active: %.1f %%" % (100 * (hidden > 0).float().mean()))
        hidden = self.fc2(hidden)
        x = self.final_layer_norm(x + self.dropout(hidden))
        return x
