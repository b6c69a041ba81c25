# Differs from the solution in:

def normalise(norm: nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = (centred * centred).mean(dim=-1, keepdim=True)
    return norm.weight * centred / torch.sqrt(variance + norm.eps) + norm.bias


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        residual = x
        x = self.self_attn(query=x, key=x, value=x, key_padding_mask=self_attn_padding_mask)
        x = self.dropout(x)
        x += residual
        x = normalise(self.self_attn_layer_norm, x)
        residual = x
        positions = []
        for t in range(x.size(1)):
            hidden = x[:, t].matmul(self.fc1.weight.t()) + self.fc1.bias  # (B, d_ff)
            positions.append(torch.maximum(hidden, torch.zeros_like(hidden)))
        x = self.dropout(self.fc2(torch.stack(positions, dim=1)))
        x += residual
        return normalise(self.final_layer_norm, x)


class TransformerEncoder(nn.Module):
    def __init__(
        self,
        num_layers: int,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        output_layer_size: int | None = None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(
                TransformerEncoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
            )
        self.output_layer = None
        if output_layer_size is not None:
            self.output_layer = nn.Linear(embedding_dim, output_layer_size)

    def forward(self, x: torch.Tensor, encoder_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, encoder_padding_mask)
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x
