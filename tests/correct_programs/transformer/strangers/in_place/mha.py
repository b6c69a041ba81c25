# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        q, k, v = (self.W_q(Q), self.W_k(K), self.W_v(V))
        q = q.view(q.shape[0], q.shape[1], self.num_heads, self.d_k).transpose_(1, 2)
        k = k.view(k.shape[0], k.shape[1], self.num_heads, self.d_k).transpose_(1, 2)
        v = v.view(v.shape[0], v.shape[1], self.num_heads, self.d_k).transpose_(1, 2)
        return (q, k, v)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = query @ key.transpose(-2, -1)
        scores /= math.sqrt(self.d_k)
        lowest = torch.finfo(scores.dtype).min
        if key_padding_mask is not None:
            scores.masked_fill_(key_padding_mask[:, None, None, :] != 0, lowest)
        if attention_mask is not None:
            scores.masked_fill_(attention_mask[:, None, :, :] != 0, lowest)
        x = scores.softmax(dim=-1) @ value
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)
