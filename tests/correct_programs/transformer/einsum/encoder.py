# Differs from the solution in:

from torch.nn import functional as F


class TransformerEncoderLayer(nn.Module):
    def forward(self, x: torch.Tensor, self_attn_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        padding = None if self_attn_padding_mask is None else self_attn_padding_mask.ne(0)
        x = self._add_and_norm(self.self_attn_layer_norm, self.self_attn(x, x, x, padding), x)
        hidden = F.relu(torch.einsum("btm,fm->btf", x, self.fc1.weight) + self.fc1.bias)
        output = torch.einsum("btf,mf->btm", hidden, self.fc2.weight) + self.fc2.bias
        return self._add_and_norm(self.final_layer_norm, output, x)

    def _add_and_norm(self, norm: nn.LayerNorm, output: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(
            self.dropout(output) + residual, (self.embedding_dim,), norm.weight, norm.bias, eps=norm.eps
        )


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
        layers = [
            TransformerEncoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
            for _ in range(num_layers)
        ]
        self.layers = nn.ModuleList(layers)
        self.output_layer = nn.Linear(embedding_dim, output_layer_size) if output_layer_size else None

    def forward(self, x: torch.Tensor, encoder_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, encoder_padding_mask)
        return self.output_layer(x) if self.output_layer else x
