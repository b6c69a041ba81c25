# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return tuple(self._heads(w(x)) for w, x in [(self.W_q, Q), (self.W_k, K), (self.W_v, V)])

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:2], self.num_heads, self.d_k).swapaxes(1, 2)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        x = query.matmul(key.swapaxes(2, 3)).mul(1 / math.sqrt(self.d_k))
        for mask, axes in ((key_padding_mask, (1, 2)), (attention_mask, (1,))):
            if mask is not None:
                for axis in axes:
                    mask = mask.unsqueeze(axis)
                x = x.masked_fill(mask.bool(), torch.finfo(x.dtype).min)
        x = x.softmax(-1).matmul(value)
        return x.swapaxes(1, 2).reshape(len(x), -1, self.d_model)
