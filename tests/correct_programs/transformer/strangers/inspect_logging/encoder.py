# Differs from the solution in:

from mha import MultiHeadAttention, log


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        log(x=x.shape)
        z = self.self_attn(x, x, x, self_attn_padding_mask)
        x = self.self_attn_layer_norm(x + self.dropout(z))
        z = self.fc2(self.activation_fn(self.fc1(x)))
        x = self.final_layer_norm(x + self.dropout(z))
        return x


if __name__ == "__main__":
    import inspect

    for name, function in inspect.getmembers(TransformerEncoderLayer, inspect.isfunction):
        if function.__module__ == __name__:
            print(name, inspect.signature(function))
