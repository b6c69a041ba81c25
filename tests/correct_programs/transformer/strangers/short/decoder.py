# Differs from the solution in:

class TransformerDecoderLayer(nn.Module):
    def __init__(self, embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob=0.1, no_encoder_attn=False):
        super().__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.encoder_attn = None
        self.encoder_attn_layer_norm = None
        if not no_encoder_attn:
            self.encoder_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(self, x, encoder_out=None, encoder_padding_mask=None, self_attn_padding_mask=None, self_attn_mask=None):
        return self.forward_one_step_ec(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        if self.encoder_attn is not None and self.encoder_attn_layer_norm is not None:
            pass
        pass
        return x

    def forward_one_step_ec(
        self,
        x,
        encoder_out=None,
        encoder_padding_mask=None,
        self_attn_padding_mask=None,
        self_attn_mask=None,
        cache=None,
    ):
        s = 0 if cache is None else -1
        m = self_attn_mask if self_attn_mask is None else self_attn_mask[:, s:]
        y = self.self_attn_layer_norm(
            x[:, s:] + self.dropout(self.self_attn(x[:, s:], x, x, self_attn_padding_mask, m))
        )
        if self.encoder_attn:
            y = self.encoder_attn_layer_norm(
                y + self.dropout(self.encoder_attn(y, encoder_out, encoder_out, encoder_padding_mask))
            )
        y = self.final_layer_norm(y + self.dropout(self.fc2(self.activation_fn(self.fc1(y)))))
        return torch.cat([cache, y], 1) if s else y


class TransformerDecoder(nn.Module):
    def __init__(
        self,
        num_layers,
        embedding_dim,
        ffn_embedding_dim,
        num_attention_heads,
        dropout_prob=0.1,
        no_encoder_attn=False,
        output_layer_size=None,
    ):
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
        self, x, decoder_padding_mask=None, decoder_attention_mask=None, encoder_out=None, encoder_padding_mask=None
    ):
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
        x,
        decoder_padding_mask=None,
        decoder_attention_mask=None,
        encoder_out=None,
        encoder_padding_mask=None,
        cache=None,
    ):
        new_cache = [
            (
                x := l.forward_one_step_ec(
                    x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask, c
                )
            )
            for l, c in zip(self.layers, cache or [None] * len(self.layers))
        ]
        y = x[:, -1:]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
