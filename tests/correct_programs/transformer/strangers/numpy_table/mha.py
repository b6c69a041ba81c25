# Differs from the solution in:

import numpy as np


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        B, Tq, Tk = Q.shape[0], Q.shape[1], K.shape[1]
        H, dk = self.num_heads, self.d_k
        q = self.W_q(Q).contiguous().view(B, Tq, H, dk).permute(0, 2, 1, 3).contiguous()
        k = self.W_k(K).contiguous().view(B, Tk, H, dk).permute(0, 2, 1, 3).contiguous()
        v = self.W_v(V).contiguous().view(B, Tk, H, dk).permute(0, 2, 1, 3).contiguous()
        return q, k, v

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        B, H, Tq, dk = query.shape
        Tk = key.shape[2]
        q = query.reshape(B * H, Tq, dk)
        k = key.reshape(B * H, Tk, dk)
        v = value.reshape(B * H, Tk, dk)
        scores = torch.bmm(q, k.transpose(1, 2)) / float(np.sqrt(dk))
        if key_padding_mask is not None:
            pad = torch.repeat_interleave(key_padding_mask != 0, H, dim=0)
            scores = scores.masked_fill(pad[:, None, :], -np.inf)
        if attention_mask is not None:
            m = attention_mask != 0
            if m.shape[0] == 1:
                m = m.repeat(B, 1, 1)
            scores = scores.masked_fill(m.repeat_interleave(H, dim=0), -np.inf)
        nothing = torch.isinf(scores).all(dim=2, keepdim=True)
        scores = scores.masked_fill(nothing, 0.0)
        out = torch.bmm(scores.softmax(2), v)
        return out.view(B, H, Tq, dk).permute(0, 2, 1, 3).reshape(B, Tq, H * dk)
