# Differs from the solution in:

from mha import MultiHeadAttention, add_norm, ffn


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        x = add_norm(
            x, self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask), self.self_attn_layer_norm, self.dropout
        )
        x = add_norm(x, ffn(self, x), self.final_layer_norm, self.dropout)
        return x
