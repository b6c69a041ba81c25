# Differs from the solution in:

import torch.nn.functional as F


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        residual = x
        x = self.self_attn(x, x, x, self_attn_padding_mask)
        x = F.dropout(x, p=self.dropout.p, training=self.training)
        x = residual + x
        x = self.self_attn_layer_norm(x)

        residual = x
        x = self.fc1(x)
        x = self.activation_fn(x)
        x = self.fc2(x)
        x = F.dropout(x, p=self.dropout.p, training=self.training)
        x = residual + x
        x = self.final_layer_norm(x)
        return x
