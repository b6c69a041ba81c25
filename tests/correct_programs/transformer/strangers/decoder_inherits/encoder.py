# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def _attend(self, x, keys, padding, pairs=None):
        y = self.self_attn(x, keys, keys, key_padding_mask=padding, attention_mask=pairs)
        return self.self_attn_layer_norm(x + self.dropout(y))

    def _feed_forward(self, x):
        return self.final_layer_norm(x + self.dropout(self.fc2(self.activation_fn(self.fc1(x)))))

    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        return self._feed_forward(self._attend(x, x, self_attn_padding_mask))
