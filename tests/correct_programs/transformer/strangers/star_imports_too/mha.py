import math

import torch
from torch import nn
from torch import matmul, where
from torch.nn import Dropout, LayerNorm, Linear, Module, ModuleList, ReLU
from torch.nn.functional import dropout, relu, softmax

NEG = -1e30


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
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

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        def f(l, x): return l(x).reshape(x.shape[0], x.shape[1], self.num_heads, self.d_k).transpose(1, 2)
        return f(self.W_q, Q), f(self.W_k, K), f(self.W_v, V)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        s = matmul(query, key.transpose(2, 3)) / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            s = where(key_padding_mask[:, None, None, :] != 0, NEG, s)
        if attention_mask is not None:
            s = where(attention_mask[:, None, :, :] != 0, NEG, s)
        x = matmul(softmax(s, dim=-1), value)
        return x.transpose(1, 2).flatten(2)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        q, k, v = self.compute_mh_qkv_transformation(query, key, value)
        x = self.compute_scaled_dot_product_attention(q, k, v, key_padding_mask, attention_mask)
        return self.W_o(x)
