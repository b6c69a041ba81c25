# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        H, d_k, D = self.num_heads, self.d_k, self.d_model
        q = self.W_q(Q).contiguous()
        B, T, _ = q.shape
        q = torch.as_strided(q, (B, H, T, d_k), (T * D, d_k, D, 1), q.storage_offset())
        k = self.W_k(K).unfold(2, d_k, d_k).permute(0, 2, 1, 3)
        v = torch.stack(torch.split(self.W_v(V), d_k, dim=2), dim=1)
        return q, k, v

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        B, H, T_q, d_k = query.shape
        a = torch.matmul(query * d_k**-0.5, key.permute(0, 1, 3, 2))
        low = -torch.inf
        dead = None
        if key_padding_mask is not None:
            a = a.masked_fill(torch.ne(key_padding_mask, 0).unsqueeze(-2).unsqueeze(-2), low)
        if attention_mask is not None:
            a = a.masked_fill(torch.ne(attention_mask, 0).unsqueeze(-3), low)
        dead = torch.isneginf(a).all(-1, keepdim=True)
        p = torch.softmax(torch.where(dead, torch.zeros_like(a), a), -1)
        x = torch.matmul(p, value).permute(0, 2, 1, 3)
        return x.contiguous().as_strided((B, T_q, H * d_k), (T_q * H * d_k, H * d_k, 1))
