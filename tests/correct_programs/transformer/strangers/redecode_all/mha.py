# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        B, H, d = Q.size(0), self.num_heads, self.d_k
        q = self.W_q(Q).reshape(B, -1, H, d)
        k = self.W_k(K).reshape(B, -1, H, d)
        v = self.W_v(V).reshape(B, -1, H, d)
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        lowest = torch.finfo(scores.dtype).min
        if key_padding_mask is not None:
            scores = scores.masked_fill((key_padding_mask != 0)[:, None, None, :], lowest)
        if attention_mask is not None:
            scores = scores.masked_fill((attention_mask != 0)[:, None, :, :], lowest)
        x = scores.softmax(dim=-1) @ value
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)
