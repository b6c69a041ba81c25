# Differs from the solution in:

class MultiHeadAttention(nn.Module):

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = torch.matmul(query, torch.transpose(key, -1, -2)).div(math.sqrt(query.shape[-1]))
        allowed = torch.ones_like(scores)
        if key_padding_mask is not None:
            allowed = allowed * (key_padding_mask == 0).to(scores.dtype).view(key_padding_mask.size(0), 1, 1, -1)
        if attention_mask is not None:
            allowed = allowed * (attention_mask == 0).to(scores.dtype).unsqueeze(1)
        floor = torch.finfo(scores.dtype).min
        largest = torch.where(allowed > 0, scores, floor).amax(dim=-1, keepdim=True).detach()
        shifted = torch.where(allowed > 0, scores - largest, 0.0)
        weights = torch.exp(shifted) * allowed
        weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
        x = torch.matmul(weights, value)
        B, _, T_q, _ = x.shape
        return x.permute(0, 2, 1, 3).reshape(B, T_q, self.d_model)
