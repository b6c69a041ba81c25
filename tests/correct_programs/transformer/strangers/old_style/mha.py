# Differs from the solution in:

from __future__ import absolute_import, division, print_function
import copy
import torch.nn as nn
import torch.nn.functional as F


def clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


def attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) \
             / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = F.softmax(scores, dim = -1)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super(MultiHeadAttention, self).__init__()
        if d_model % num_heads:
            raise ValueError("d_model (%d) must be a multiple of num_heads (%d)" % (d_model, num_heads))
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = clones(nn.Linear(d_model, d_model), 4)
        self.attn = None

    def compute_mh_qkv_transformation(self, Q, K, V):
        nbatches = Q.size(0)
        query, key, value = \
            [l(x).view(nbatches, -1, self.num_heads, self.d_k).transpose(1, 2)
             for l, x in zip((self.W_q, self.W_k, self.W_v), (Q, K, V))]
        return query, key, value

    def compute_scaled_dot_product_attention(self, query, key, value, key_padding_mask=None, attention_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = (key_padding_mask == 0).unsqueeze(1).unsqueeze(1)
        if attention_mask is not None:
            m = (attention_mask == 0).unsqueeze(1)
            mask = m if mask is None else mask & m
        x, attn = attention(query, key, value, mask=mask)
        self.attn = attn.data
        return x.transpose(1, 2).contiguous() \
             .view(x.size(0), -1, self.num_heads * self.d_k)

    def forward(self, query, key, value, key_padding_mask=None, attention_mask=None):
        q, k, v = self.compute_mh_qkv_transformation(query, key, value)
        return self.W_o(self.compute_scaled_dot_product_attention(q, k, v, key_padding_mask, attention_mask))
