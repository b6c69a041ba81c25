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
        B, H, T_q, d_k = query.shape
        T_k = key.size(2)
        mask = torch.zeros(B, 1, T_q, T_k, dtype=torch.bool, device=query.device)
        if key_padding_mask is not None:
            mask[:] = key_padding_mask.view(B, 1, 1, T_k) != 0
        if attention_mask is not None:
            mask[attention_mask.unsqueeze(1).expand(B, 1, T_q, T_k) != 0] = True
        scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(d_k)
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        x = query.new_empty(B, T_q, self.d_model)
        for h in range(H):
            x[:, :, h * d_k : (h + 1) * d_k] = scores[:, h].softmax(dim=-1) @ value[:, h]
        return x
