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
        key = key / math.sqrt(d_k)
        scores = torch.stack([torch.stack([query[b, h] @ key[b, h].T for h in range(H)]) for b in range(B)])
        if key_padding_mask is not None:
            hidden = key_padding_mask.bool()[:, None, None].expand_as(scores)
            scores = scores.masked_scatter(hidden, torch.full_like(scores, -1e9))
        if attention_mask is not None:
            hidden = attention_mask.bool()[:, None].expand_as(scores)
            scores = scores.masked_scatter(hidden, torch.full_like(scores, -1e9))
        weights = torch.exp(torch.log_softmax(scores, dim=-1))
        x = torch.stack([torch.cat([weights[b, h] @ value[b, h] for h in range(H)], dim=1) for b in range(B)])
        return x.view(B, T_q, self.d_model)
