# Differs from the solution in:

import torch.nn.functional as F


class TransformerDecoderLayer(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        residual = x
        x = self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)
        x = F.dropout(x, p=self.dropout.p, training=self.training)
        x = residual + x
        x = self.self_attn_layer_norm(x)

        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            residual = x
            x = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
            x = F.dropout(x, p=self.dropout.p, training=self.training)
            x = residual + x
            x = self.encoder_attn_layer_norm(x)

        residual = x
        x = self.fc1(x)
        x = self.activation_fn(x)
        x = self.fc2(x)
        x = F.dropout(x, p=self.dropout.p, training=self.training)
        x = residual + x
        x = self.final_layer_norm(x)
        return x
