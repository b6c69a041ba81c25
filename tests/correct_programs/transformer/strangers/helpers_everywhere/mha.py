# Differs from the solution in:

from pe import ALLOWED, position_range


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        batch = len(Q)
        projected = []
        for linear, inputs in ((self.W_q, Q), (self.W_k, K), (self.W_v, V)):
            positions = position_range(inputs).numel()
            projected.append(linear(inputs).view(batch, positions, self.num_heads, self.d_k).transpose(1, 2))
        return tuple(projected)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scale = 1.0 / math.sqrt(query.shape[-1])
        scores = torch.einsum("bhqd,bhkd->bhqk", query * scale, key)
        if attention_mask is not None:
            scores.masked_fill_(attention_mask[:, None, :, :] != ALLOWED, -math.inf)
        if key_padding_mask is not None:
            scores.masked_fill_(key_padding_mask[:, None, None, :] != ALLOWED, -math.inf)
        weights = torch.softmax(scores, -1).nan_to_num(0.0)
        x = torch.einsum("bhqk,bhkd->bhqd", weights, value)
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)
