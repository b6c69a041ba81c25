# Differs from the solution in:

import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
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
