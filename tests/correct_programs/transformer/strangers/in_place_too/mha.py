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
        s = torch.matmul(query, key.transpose(-2, -1))
        s /= math.sqrt(self.d_k)
        if key_padding_mask is not None:
            s.masked_fill_(key_padding_mask[:, None, None, :] != 0, torch.finfo(s.dtype).min)
        if attention_mask is not None:
            s.masked_fill_(attention_mask[:, None, :, :] != 0, torch.finfo(s.dtype).min)
        s -= s.detach().amax(-1, keepdim=True)
        s = s.exp()
        s = s / s.sum(-1, keepdim=True)
        return torch.matmul(s, value).transpose_(1, 2).flatten(2)
