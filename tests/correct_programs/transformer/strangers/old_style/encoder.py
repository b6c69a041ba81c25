from __future__ import division
import torch
import torch.nn as nn
from mha import MultiHeadAttention


def residual(x, sublayer, norm, dropout):
    return norm(x + dropout(sublayer(x)))


class TransformerEncoderLayer(nn.Module):
    def __init__(self, embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob):
        super(TransformerEncoderLayer, self).__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = nn.LayerNorm(embedding_dim)
        self.activation_fn = nn.ReLU()
        self.fc1 = nn.Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = nn.Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(p=dropout_prob)

    def feed_forward(self, x):
        return self.fc2(self.activation_fn(self.fc1(x)))

    def forward(self, x, self_attn_padding_mask=None):
        x = residual(x, lambda x: self.self_attn(x, x, x, self_attn_padding_mask), self.self_attn_layer_norm, self.dropout)
        return residual(x, self.feed_forward, self.final_layer_norm, self.dropout)


class TransformerEncoder(nn.Module):
    def __init__(self, num_layers, embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob=0.1,
                 output_layer_size=None):
        super(TransformerEncoder, self).__init__()
        self.layers = nn.ModuleList([TransformerEncoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads,
                                                             dropout_prob) for _ in range(num_layers)])
        self.output_layer = None
        if output_layer_size is not None:
            self.output_layer = nn.Linear(embedding_dim, output_layer_size)

    def forward(self, x, encoder_padding_mask=None):
        for layer in self.layers:
            x = layer(x, encoder_padding_mask)
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x
