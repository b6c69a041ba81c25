import copy
import math
import torch
import torch.nn as nn


def clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1000000000.0)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return (torch.matmul(p_attn, value), p_attn)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super(MultiHeadAttention, self).__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)
        self.attn = None

    def compute_mh_qkv_transformation(self, Q, K, V):
        nbatches = Q.size(0)
        query, key, value = [
            lin(x).view(nbatches, -1, self.num_heads, self.d_k).transpose(1, 2)
            for lin, x in zip((self.W_q, self.W_k, self.W_v), (Q, K, V))
        ]
        return (query, key, value)

    def compute_scaled_dot_product_attention(self, query, key, value, key_padding_mask=None, attention_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = (key_padding_mask == 0)[:, None, None, :]
        if attention_mask is not None:
            allowed = (attention_mask == 0).unsqueeze(1)
            mask = allowed if mask is None else mask & allowed
        x, self.attn = attention(query, key, value, mask=mask)
        nbatches = x.size(0)
        return x.transpose(1, 2).contiguous().view(nbatches, -1, self.num_heads * self.d_k)

    def forward(self, query, key, value, key_padding_mask=None, attention_mask=None):
        q, k, v = self.compute_mh_qkv_transformation(query, key, value)
        x = self.compute_scaled_dot_product_attention(q, k, v, key_padding_mask, attention_mask)
        return self.W_o(x)
