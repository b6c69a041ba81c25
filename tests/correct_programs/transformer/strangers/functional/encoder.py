# Differs from the solution in:

from torch.nn.functional import dropout, layer_norm, linear, relu


def norm(x, module):
    return layer_norm(x, (x.size(-1),), module.weight, module.bias, module.eps)


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        def drop(y):
            return dropout(y, self.dropout.p, self.training)

        x = norm(x + drop(self.self_attn(x, x, x, self_attn_padding_mask)), self.self_attn_layer_norm)
        h = relu(linear(x, self.fc1.weight, self.fc1.bias))
        return norm(x + drop(linear(h, self.fc2.weight, self.fc2.bias)), self.final_layer_norm)
