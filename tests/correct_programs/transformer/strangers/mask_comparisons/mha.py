# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        q = torch.cat([part.unsqueeze(1) for part in self.W_q(Q).chunk(self.num_heads, -1)], dim=1)
        k = torch.cat([part.unsqueeze(1) for part in self.W_k(K).chunk(self.num_heads, -1)], dim=1)
        v = torch.cat([part.unsqueeze(1) for part in self.W_v(V).chunk(self.num_heads, -1)], dim=1)
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
        scores = scores / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            padding = torch.clamp(key_padding_mask.long() ** 2, max=1)
            scores = scores.masked_fill(padding[:, None, None, :] == 1, -1000000000.0)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None].long().abs() > 0, -1000000000.0)
        x = scores.softmax(dim=-1) @ value
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)
