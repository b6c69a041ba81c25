# Differs from the solution in:

def normalise(norm: nn.LayerNorm | None, x: torch.Tensor) -> torch.Tensor:
    assert norm is not None
    variance, mean = torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + norm.eps) * norm.weight + norm.bias


class TransformerDecoderLayer(nn.Module):
    def __init__(
        self,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        if no_encoder_attn:
            self.encoder_attn, self.encoder_attn_layer_norm = None, None
        else:
            self.encoder_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        return self.attend(x, x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)

    def attend(
        self,
        query: torch.Tensor,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None,
        encoder_padding_mask: torch.Tensor | None,
        self_attn_padding_mask: torch.Tensor | None,
        self_attn_mask: torch.Tensor | None,
    ) -> torch.Tensor:
        output = self.self_attn(query, x, x, self_attn_padding_mask, self_attn_mask)
        x = normalise(self.self_attn_layer_norm, query + self.dropout(output))
        if self.encoder_attn is not None:
            output = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
            x = normalise(self.encoder_attn_layer_norm, x + self.dropout(output))
        hidden = self.fc1(x)
        output = self.fc2(hidden * (hidden > 0))
        return normalise(self.final_layer_norm, x + self.dropout(output))

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        if cache is None:
            return self.forward(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        frames = [cache[:, t] for t in range(cache.size(1))]
        rows = None if self_attn_mask is None else self_attn_mask[:, -1:]
        last = self.attend(x[:, -1:], x, encoder_out, encoder_padding_mask, self_attn_padding_mask, rows)
        frames.append(last[:, 0])
        return torch.stack(frames, dim=1)  # T_d times (B, d_model) -> (B, T_d, d_model)


class TransformerDecoder(nn.Module):
    def __init__(
        self,
        num_layers: int,
        embedding_dim: int,
        ffn_embedding_dim: int,
        num_attention_heads: int,
        dropout_prob: float = 0.1,
        no_encoder_attn: bool = False,
        output_layer_size: int | None = None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(
                TransformerDecoderLayer(
                    embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob, no_encoder_attn
                )
            )
        self.output_layer = None
        if output_layer_size is not None:
            self.output_layer = nn.Linear(embedding_dim, output_layer_size)

    def forward(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask)
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        cache: list[torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        new_cache = []
        for i in range(len(self.layers)):
            layer = self.layers[i]
            assert isinstance(layer, TransformerDecoderLayer)
            x = layer.forward_one_step_ec(
                x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
                cache=cache[i] if cache is not None else None,
            )
            new_cache.append(x)
        y = x
        if self.output_layer is not None:
            y = self.output_layer(y)
        return y[:, y.size(1) - 1 :, :], new_cache
