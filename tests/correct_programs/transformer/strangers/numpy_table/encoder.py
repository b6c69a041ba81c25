# Differs from the solution in:

from torch.nn.functional import dropout, relu


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        p = self.dropout.p
        out1 = dropout(self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask), p, self.training)
        x1 = self.self_attn_layer_norm(x + out1)
        out2 = dropout(self.fc2(relu(self.fc1(x1))), p, self.training)
        x2 = self.final_layer_norm(x1 + out2)
        return x2
