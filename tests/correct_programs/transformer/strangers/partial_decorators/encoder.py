# Differs from the solution in:

from functools import partial, reduce
from torch.nn.functional import dropout


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        drop = partial(dropout, p=self.dropout.p, training=self.training)
        attend = partial(self.self_attn, key_padding_mask=self_attn_padding_mask)
        sublayers = [
            (self.self_attn_layer_norm, lambda t: attend(t, t, t)),
            (self.final_layer_norm, lambda t: self.fc2(self.activation_fn(self.fc1(t)))),
        ]
        return reduce(lambda t, s: s[0](t + drop(s[1](t))), sublayers, x)


class TransformerEncoder(nn.Module):
    def forward(self, x: torch.Tensor, encoder_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        layers = (partial(layer, self_attn_padding_mask=encoder_padding_mask) for layer in self.layers)
        x = reduce(lambda t, layer: layer(t), layers, x)
        return x if self.output_layer is None else self.output_layer(x)
