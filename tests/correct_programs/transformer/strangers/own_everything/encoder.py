# Differs from the solution in:

from mha import Dropout, LayerNorm, Linear, MultiHeadAttention, ReLU


class TransformerEncoderLayer(nn.Module):
    def __init__(
        self, embedding_dim: int, ffn_embedding_dim: int, num_attention_heads: int, dropout_prob: float
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.self_attn = MultiHeadAttention(embedding_dim, num_attention_heads)
        self.self_attn_layer_norm = LayerNorm(embedding_dim)
        self.activation_fn = ReLU()
        self.fc1 = Linear(embedding_dim, ffn_embedding_dim)
        self.fc2 = Linear(ffn_embedding_dim, embedding_dim)
        self.final_layer_norm = LayerNorm(embedding_dim)
        self.dropout = Dropout(dropout_prob)


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
        self.layers = nn.ModuleList(
            TransformerEncoderLayer(embedding_dim, ffn_embedding_dim, num_attention_heads, dropout_prob)
            for _ in range(num_layers)
        )
        self.output_layer = None if output_layer_size is None else Linear(embedding_dim, output_layer_size)
