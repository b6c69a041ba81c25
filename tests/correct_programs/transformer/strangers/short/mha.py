# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def compute_mh_qkv_transformation(self, Q, K, V):
        return [
            w(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for w, x in ((self.W_q, Q), (self.W_k, K), (self.W_v, V))
        ]

    def compute_scaled_dot_product_attention(self, query, key, value, key_padding_mask=None, attention_mask=None):
        s = query @ key.mT / self.d_k**0.5
        if (p := key_padding_mask) is not None:
            s = s.masked_fill(p[:, None, None] != 0, -1000000000.0)
        if (a := attention_mask) is not None:
            s = s.masked_fill(a[:, None] != 0, -1000000000.0)
        return (s.softmax(-1) @ value).transpose(1, 2).flatten(2)
