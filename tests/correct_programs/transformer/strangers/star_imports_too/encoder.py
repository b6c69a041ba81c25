from mha import *


class TransformerEncoderLayer(nn.Module):
    def __init__(self, embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob):
        super().__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = LayerNorm(embedding_dim)
        self.activation_fn = ReLU()
        self.fc1 = Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = LayerNorm(embedding_dim)
        self.dropout = Dropout(dropout_prob)

    def forward(self, x, self_attn_padding_mask=None):
        y = self.self_attn(x, x, x, self_attn_padding_mask)
        x = self.self_attn_layer_norm(x + dropout(y, self.dropout.p, self.training))
        y = self.fc2(relu(self.fc1(x)))
        x = self.final_layer_norm(x + dropout(y, self.dropout.p, self.training))
        return x


class TransformerEncoder(nn.Module):
    def __init__(self, num_layers, embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob=0.1, output_layer_size=None):
        super().__init__()
        self.layers = ModuleList(
            [TransformerEncoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob) for _ in range(num_layers)]
        )
        self.output_layer = Linear(embedding_dim, output_layer_size) if output_layer_size is not None else None

    def forward(self, x, encoder_padding_mask=None):
        for l in self.layers:
            x = l(x, encoder_padding_mask)
        return x if self.output_layer is None else self.output_layer(x)
