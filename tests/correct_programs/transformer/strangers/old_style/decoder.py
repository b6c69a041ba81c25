from __future__ import division
import torch
import torch.nn as nn
from mha import MultiHeadAttention
from encoder import residual


class TransformerDecoderLayer(nn.Module):
    def __init__(self, embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob=0.1, no_encoder_attn=False):
        super(TransformerDecoderLayer, self).__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        if no_encoder_attn:
            self.encoder_attn = None
            self.encoder_attn_layer_norm = None
        else:
            self.encoder_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(p=dropout_prob)

    def feed_forward(self, x):
        return self.fc2(self.activation_fn(self.fc1(x)))

    def _sublayers(self, q, x, m, src_mask, tgt_mask, pair_mask):
        q = residual(q, lambda q: self.self_attn(q, x, x, tgt_mask, pair_mask), self.self_attn_layer_norm, self.dropout)
        if self.encoder_attn is not None:
            q = residual(q, lambda q: self.encoder_attn(q, m, m, src_mask), self.encoder_attn_layer_norm, self.dropout)
        return residual(q, self.feed_forward, self.final_layer_norm, self.dropout)

    def forward(self, x, encoder_out=None, encoder_padding_mask=None, self_attn_padding_mask=None, self_attn_mask=None):
        return self._sublayers(x, x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)

    def forward_one_step_ec(self, x, encoder_out=None, encoder_padding_mask=None, self_attn_padding_mask=None,
                            self_attn_mask=None, cache=None):
        if cache is None:
            return self.forward(x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        T = x.size(1)
        if self_attn_mask is not None:
            self_attn_mask = self_attn_mask[:, T - 1:T]
        new = self._sublayers(x[:, T - 1:T], x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask)
        return torch.cat([cache, new], 1)


class TransformerDecoder(nn.Module):
    def __init__(self, num_layers, embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob=0.1,
                 no_encoder_attn=False, output_layer_size=None):
        super(TransformerDecoder, self).__init__()
        self.layers = nn.ModuleList([TransformerDecoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads,
                                                             dropout_prob, no_encoder_attn) for _ in range(num_layers)])
        self.output_layer = None
        if output_layer_size is not None:
            self.output_layer = nn.Linear(embedding_dim, output_layer_size)

    def forward(self, x, decoder_padding_mask=None, decoder_attention_mask=None, encoder_out=None,
                encoder_padding_mask=None):
        for layer in self.layers:
            x = layer(x, encoder_out, encoder_padding_mask, decoder_padding_mask, decoder_attention_mask)
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x

    def forward_one_step_ec(self, x, decoder_padding_mask=None, decoder_attention_mask=None, encoder_out=None,
                            encoder_padding_mask=None, cache=None):
        if cache is None:
            cache = [None] * len(self.layers)
        new_cache = []
        for layer, c in zip(self.layers, cache):
            x = layer.forward_one_step_ec(x, encoder_out, encoder_padding_mask, decoder_padding_mask,
                                          decoder_attention_mask, c)
            new_cache.append(x)
        y = x[:, -1, :].unsqueeze(1)
        if self.output_layer is not None:
            y = self.output_layer(y)
        return y, new_cache
