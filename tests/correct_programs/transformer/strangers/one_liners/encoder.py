# Differs from the solution in:

class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.final_layer_norm((y := self.self_attn_layer_norm(x + nn.functional.dropout(self.self_attn(x, x, x, self_attn_padding_mask), self.dropout.p, self.training))) + nn.functional.dropout(self.fc2(self.activation_fn(self.fc1(y))), self.dropout.p, self.training))


class TransformerEncoder(nn.Module):
    def forward(self, x: torch.Tensor, encoder_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        return (self.output_layer or (lambda y: y))([x := layer(x, encoder_padding_mask) for layer in self.layers][-1])
