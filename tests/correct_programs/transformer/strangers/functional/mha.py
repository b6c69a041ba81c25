# Differs from the solution in:

from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if Q is K and K is V:
            W = torch.cat([self.W_q.weight, self.W_k.weight, self.W_v.weight])
            b = torch.cat([self.W_q.bias, self.W_k.bias, self.W_v.bias])
            q, k, v = F.linear(Q, W, b).chunk(3, dim=-1)
        else:
            q = F.linear(Q, self.W_q.weight, self.W_q.bias)
            k = F.linear(K, self.W_k.weight, self.W_k.bias)
            v = F.linear(V, self.W_v.weight, self.W_v.bias)
        shape = (Q.size(0), -1, self.num_heads, self.d_k)
        return tuple(t.reshape(shape).transpose(1, 2) for t in (q, k, v))

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = query @ key.mT
        scores = scores * torch.rsqrt(torch.tensor(self.d_k, dtype=scores.dtype, device=scores.device))
        if key_padding_mask is not None:
            scores = torch.masked_fill(scores, ~torch.eq(key_padding_mask, 0)[:, None, None, :], float("-1e20"))
        if attention_mask is not None:
            scores = torch.masked_fill(scores, ~torch.eq(attention_mask, 0)[:, None, :, :], float("-1e20"))
        x = F.softmax(scores, dim=-1).matmul(value)
        return x.transpose(1, 2).reshape(query.size(0), query.size(2), -1)
