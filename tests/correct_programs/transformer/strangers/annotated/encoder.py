import torch
from mha import MultiHeadAttention, clones
from torch import nn


class SublayerConnection:
    def __init__(self, norm, dropout):
        self.norm = norm
        self.dropout = dropout

    def __call__(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


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
        self.dropout = nn.Dropout(dropout_prob)

    def feed_forward(self, x):
        return self.fc2(self.activation_fn(self.fc1(x)))

    def forward(self, x, self_attn_padding_mask=None):
        sublayer = [
            SublayerConnection(self.self_attn_layer_norm, self.dropout),
            SublayerConnection(self.final_layer_norm, self.dropout),
        ]
        x = sublayer[0](x, lambda x: self.self_attn(x, x, x, self_attn_padding_mask))
        return sublayer[1](x, self.feed_forward)


class TransformerEncoder(nn.Module):
    def __init__(
        self,
        num_layers,
        embedding_dim,
        ffn_embedding_dim,
        num_attention_heads,
        dropout_prob=0.1,
        output_layer_size=None,
    ):
        super(TransformerEncoder, self).__init__()
        layer = TransformerEncoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
        self.layers = clones(layer, num_layers)
        self.output_layer = None if output_layer_size is None else nn.Linear(embedding_dim, output_layer_size)

    def forward(self, x, encoder_padding_mask=None):
        for layer in self.layers:
            x = layer(x, encoder_padding_mask)
        if self.output_layer is not None:
            x = self.output_layer(x)
        return x
