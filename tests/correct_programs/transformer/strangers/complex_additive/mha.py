# Differs from the solution in:

from typing import Final, Optional, Tuple


Mask = Optional[torch.Tensor]


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        B: Final[int] = Q.size(0)
        q: torch.Tensor = self.W_q(Q).view(B, -1, self.num_heads, self.d_k).transpose(1, 2)
        k: torch.Tensor = self.W_k(K).view(B, -1, self.num_heads, self.d_k).transpose(1, 2)
        v: torch.Tensor = self.W_v(V).view(B, -1, self.num_heads, self.d_k).transpose(1, 2)
        return q, k, v

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        bias: Mask = self._bias(query, key_padding_mask, attention_mask)
        q = query / math.sqrt(self.d_k)
        scores: torch.Tensor = torch.matmul(q, key.transpose(2, 3))
        if bias is not None:
            scores = scores + bias
        x: torch.Tensor = torch.matmul(torch.softmax(scores, -1), value)
        shape: Tuple[int, int, int] = (x.size(0), x.size(2), self.d_model)
        return x.transpose(1, 2).reshape(shape)

    @staticmethod
    def _bias(like: torch.Tensor, padding: Mask, pairs: Mask) -> Mask:
        if padding is None and pairs is None:
            return None
        forbidden = torch.zeros(1, 1, 1, 1, dtype=torch.bool, device=like.device)
        if padding is not None:
            forbidden = forbidden | padding.bool()[:, None, None]
        if pairs is not None:
            forbidden = forbidden | pairs.bool()[:, None]
        forbidden = forbidden & ~forbidden.all(dim=-1, keepdim=True)
        zero = torch.zeros(forbidden.shape, dtype=like.dtype, device=like.device)
        return zero.masked_fill(forbidden, float("-inf"))
