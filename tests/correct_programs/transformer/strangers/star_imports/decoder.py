from mha import *


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
        self.encoder_attn: MultiHeadAttention | None = None
        self.encoder_attn_layer_norm: nn.LayerNorm | None = None
        if not no_encoder_attn:
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
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)))
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            y = self.encoder_attn(x, encoder_out, encoder_out, encoder_padding_mask)
            x = self.encoder_attn_layer_norm(x + self.dropout(y))
        x = self.final_layer_norm(x + self.dropout(self.fc2(nn.ReLU()(self.fc1(x)))))
        return x

    def forward_one_step_ec(
        self,
        x: torch.Tensor,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
        self_attn_padding_mask: torch.Tensor | None = None,
        self_attn_mask: torch.Tensor | None = None,
        cache: torch.Tensor | None = None,
    ) -> torch.Tensor:
        new = x if cache is None else last_position(x)
        if self_attn_mask is not None and cache is not None:
            self_attn_mask = last_position(self_attn_mask)
        new = self.self_attn_layer_norm(
            new + self.dropout(self.self_attn(new, x, x, self_attn_padding_mask, self_attn_mask))
        )
        if self.encoder_attn is not None:
            y = self.encoder_attn(new, encoder_out, encoder_out, encoder_padding_mask)
            new = self.encoder_attn_layer_norm(new + self.dropout(y))
        new = self.final_layer_norm(new + self.dropout(self.fc2(nn.ReLU()(self.fc1(new)))))
        return new if cache is None else torch.cat((cache, new), 1)


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
        self.layers = nn.ModuleList(
            (
                TransformerDecoderLayer(
                    embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob, no_encoder_attn
                )
                for _ in range(num_layers)
            )
        )
        self.output_layer = None if output_layer_size is None else nn.Linear(embedding_dim, output_layer_size)

    def forward(
        self,
        x: torch.Tensor,
        decoder_padding_mask: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_out: torch.Tensor | None = None,
        encoder_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        for layer in self.layers:
            x = layer(
                x,
                encoder_out=encoder_out,
                encoder_padding_mask=encoder_padding_mask,
                self_attn_padding_mask=decoder_padding_mask,
                self_attn_mask=decoder_attention_mask,
            )
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
        new_cache = {}
        for name, layer in self.layers.named_children():
            x = layer.forward_one_step_ec(
                x,
                encoder_out,
                encoder_padding_mask,
                decoder_padding_mask,
                decoder_attention_mask,
                None if cache is None else cache[int(name)],
            )
            new_cache[name] = x
        new_cache = list(new_cache.values())
        y = last_position(x)
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
