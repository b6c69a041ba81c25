import math
import torch
from torch import nn

SOFTMAX = nn.Softmax(dim=-1)
FORBIDDEN = -1000000000.0
calls = 0


class SplitHeads(nn.Module):
    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.Unflatten(2, (self.num_heads, -1))(x).transpose(1, 2)


def last_position(x: torch.Tensor) -> torch.Tensor:
    return x[:, -1:]


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
        global calls
        calls += 1
        split = SplitHeads(self.num_heads)
        return (split(self.W_q(Q)), split(self.W_k(K)), split(self.W_v(V)))

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :] != 0, FORBIDDEN)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, :, :] != 0, FORBIDDEN)
        x = SOFTMAX(scores) @ value
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)

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
