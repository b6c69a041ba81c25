# Differs from the solution in:

from torch.nn.functional import dropout, layer_norm, linear, relu


class TransformerDecoderLayer(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        def drop(y):
            return dropout(y, self.dropout.p, self.training)

        def norm(x, module):
            return layer_norm(x, (self.embedding_dim,), module.weight, module.bias, module.eps)

        x = norm(x + drop(self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)), self.self_attn_layer_norm)
        if self.encoder_attn is not None:
            x = norm(x + drop(self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)), self.encoder_attn_layer_norm)
        h = relu(linear(x, self.fc1.weight, self.fc1.bias))
        return norm(x + drop(linear(h, self.fc2.weight, self.fc2.bias)), self.final_layer_norm)
