# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    k: torch.Tensor | None = None

    k_T: torch.Tensor | None = None

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:

        def split(x):
            return x.unflatten(-1, (self.num_heads, self.d_k)).transpose(1, 2)

        q, k, v = (split(self.W_q(Q)), split(self.W_k(K)), split(self.W_v(V)))
        self.k = k
        self.k_T = k.transpose(-2, -1)
        return (q, k, v)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        k_T = self.k_T if self.k is key else key.transpose(-2, -1)
        scores = query @ k_T * self.d_k ** (-0.5)
        mask = None
        if key_padding_mask is not None:
            mask = key_padding_mask[:, None, None, :] != 0
        if attention_mask is not None:
            attention_mask = attention_mask[:, None] != 0
            mask = attention_mask if mask is None else torch.logical_or(mask, attention_mask)
        if mask is not None:
            scores = torch.where(mask, torch.finfo(scores.dtype).min, scores)
        x = torch.nn.functional.softmax(scores, dim=-1) @ value
        self.k = self.k_T = None
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)
