import torch
from encoder import SublayerConnection
from mha import MultiHeadAttention, clones
from torch import nn


class TransformerDecoderLayer(nn.Module):
    def __init__(self, embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob=0.1, no_encoder_attn=False):
        super(TransformerDecoderLayer, self).__init__()
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

    def feed_forward(self, x):
        return self.fc2(self.activation_fn(self.fc1(x)))

    def _sublayers(self, x, memory, keys, src_mask, tgt_padding, tgt_mask):
        connect = SublayerConnection(self.self_attn_layer_norm, self.dropout)
        x = connect(x, lambda q: self.self_attn(q, *[q if keys is None else keys] * 2, tgt_padding, tgt_mask))
        if self.encoder_attn is not None:
            m = memory
            connect = SublayerConnection(self.encoder_attn_layer_norm, self.dropout)
            x = connect(x, lambda q: self.encoder_attn(q, m, m, src_mask))
        return SublayerConnection(self.final_layer_norm, self.dropout)(x, self.feed_forward)

    def forward(self, x, encoder_out=None, encoder_padding_mask=None, self_attn_padding_mask=None, self_attn_mask=None):
        return self._sublayers(x, encoder_out, None, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)

    def forward_one_step_ec(
        self,
        x,
        encoder_out=None,
        encoder_padding_mask=None,
        self_attn_padding_mask=None,
        self_attn_mask=None,
        cache=None,
    ):
        if cache is None:
            return self(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        last_row = self_attn_mask[:, -1:, :] if self_attn_mask is not None else None
        new = self._sublayers(x[:, -1:, :], encoder_out, x, encoder_padding_mask, self_attn_padding_mask, last_row)
        return torch.cat((cache, new), dim=1)


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
        super(TransformerDecoder, self).__init__()
        layer = TransformerDecoderLayer(
            embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob, no_encoder_attn
        )
        self.layers = clones(layer, num_layers)
        self.output_layer = None if output_layer_size is None else nn.Linear(embedding_dim, output_layer_size)

    def forward(
        self, x, decoder_padding_mask=None, decoder_attention_mask=None, encoder_out=None, encoder_padding_mask=None
    ):
        for layer in self.layers:
            x = layer(x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask)
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
        new_cache = []
        old = iter(cache) if cache is not None else None
        for layer in self.layers:
            x = layer.forward_one_step_ec(
                x,
                encoder_out,
                encoder_padding_mask,
                decoder_padding_mask,
                decoder_attention_mask,
                next(old) if old is not None else None,
            )
            new_cache.append(x)
        y = x[:, -1:]
        if self.output_layer is not None:
            y = self.output_layer(y)
        return (y, new_cache)
