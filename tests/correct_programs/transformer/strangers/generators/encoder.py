# Differs from the solution in:


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
        drop = nn.Dropout(dropout_prob)

        def layers():
            for _ in range(num_layers):
                layer = TransformerEncoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
                layer.dropout = drop
                yield layer

        self.layers = nn.ModuleList(layers())
        self.output_layer = None if output_layer_size is None else nn.Linear(embedding_dim, output_layer_size)

    def forward(self, x: torch.Tensor, encoder_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        *_, top = self.states(x, encoder_padding_mask)
        return top if self.output_layer is None else self.output_layer(top)

    def states(self, x, encoder_padding_mask=None):
        yield x
        for layer in self.layers:
            x = layer(x, encoder_padding_mask)
            yield x
