# Differs from the solution in:

from functools import reduce


def compose(*functions):
    return lambda x: reduce(lambda y, function: function(y), functions, x)


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        attend = lambda z: self.self_attn(z, z, z, self_attn_padding_mask)
        ffn = compose(self.fc1, self.activation_fn, self.fc2)
        steps = ((attend, self.self_attn_layer_norm), (ffn, self.final_layer_norm))
        x = reduce(lambda z, step: step[1](z + self.dropout(step[0](z))), steps, x)
        return x
