# Differs from the solution in:

from mha import MultiHeadAttention, ausfall


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        p, übung = self.dropout.p, self.training
        zwischen = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask)
        x = self.self_attn_layer_norm(x + ausfall(zwischen, p, übung))
        zwischen = self.fc2(self.activation_fn(self.fc1(x)))
        x = self.final_layer_norm(x + ausfall(zwischen, p, übung))
        return x
