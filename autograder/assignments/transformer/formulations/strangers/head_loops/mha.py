import math

import torch
from torch import nn
import torch.nn.functional as F


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
        q = torch.stack(self.W_q(Q).chunk(self.num_heads, dim=-1), dim=1)
        k = torch.stack(self.W_k(K).chunk(self.num_heads, dim=-1), dim=1)
        v = torch.stack(self.W_v(V).chunk(self.num_heads, dim=-1), dim=1)
        return q, k, v

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        outputs = []
        for h in range(self.num_heads):
            q_h, k_h, v_h = query[:, h], key[:, h], value[:, h]
            s = torch.matmul(q_h, k_h.permute(0, 2, 1)) / math.sqrt(self.d_k)
            if attention_mask is not None:
                s = s.masked_fill(attention_mask.bool(), -1e9)
            if key_padding_mask is not None:
                s = s.masked_fill(key_padding_mask.bool().unsqueeze(1), -1e9)
            a = F.softmax(s, dim=-1)
            outputs.append(torch.matmul(a, v_h))
        return torch.cat(outputs, dim=-1)

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
