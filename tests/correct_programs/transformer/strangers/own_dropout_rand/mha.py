# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:

        def to_heads(linear, x):
            B, T, _ = x.shape
            return linear(x).view(B, T, self.num_heads, self.d_k).swapaxes(1, 2)

        return (to_heads(self.W_q, Q), to_heads(self.W_k, K), to_heads(self.W_v, V))

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        B, H, T_q, d_k = query.shape
        T_k = key.shape[2]
        bias = torch.zeros(B, 1, T_q, T_k, dtype=query.dtype, device=query.device)
        low = torch.finfo(query.dtype).min
        if key_padding_mask is not None:
            bias.masked_fill_(key_padding_mask.bool().reshape(B, 1, 1, T_k), low)
        if attention_mask is not None:
            bias.masked_fill_(attention_mask.bool().unsqueeze(1), low)
        bias = bias.expand(B, H, T_q, T_k).reshape(B * H, T_q, T_k)
        scores = torch.baddbmm(
            bias, query.reshape(B * H, T_q, d_k), key.reshape(B * H, T_k, d_k).transpose(1, 2), alpha=1 / math.sqrt(d_k)
        )
        x = torch.bmm(scores.softmax(-1), value.reshape(B * H, T_k, d_k)).view(B, H, T_q, d_k)
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)
