# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        q, k, v = (
            linear(inputs).view(inputs.size(0), inputs.size(1), self.num_heads, self.d_k).transpose(1, 2)
            for linear, inputs in zip((self.W_q, self.W_k, self.W_v), (Q, K, V))
        )
        return (q, k, v)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        if not hasattr(self, "inverse_root"):
            self.inverse_root = self.d_k ** (-0.5)
        scores = query.mul(self.inverse_root) @ key.transpose(-2, -1)
        combined = 0
        if key_padding_mask is not None:
            combined = key_padding_mask.unsqueeze(1).unsqueeze(2).bool()
        if attention_mask is not None:
            combined = (
                attention_mask.unsqueeze(1).bool() | combined
                if key_padding_mask is not None
                else attention_mask.unsqueeze(1).bool()
            )
        if torch.is_tensor(combined):
            scores = scores.masked_fill(combined, torch.finfo(scores.dtype).min)
        x = scores.softmax(-1) @ value
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)
