# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        def split(x: torch.Tensor) -> torch.Tensor:
            B, T, _ = x.shape
            return x.reshape(B, T, self.num_heads, self.d_k).transpose(1, 2)

        return split(self.W_q(Q)), split(self.W_k(K)), split(self.W_v(V))

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        masks = [m for m in (None if key_padding_mask is None else key_padding_mask[:, None, None], None if attention_mask is None else attention_mask[:, None]) if m is not None]
        scores = torch.baddbmm(
            query.new_zeros(1, 1, 1),
            query.flatten(0, 1),
            key.flatten(0, 1).mT,
            alpha=1 / math.sqrt(self.d_k),
        ).unflatten(0, query.shape[:2])
        for m in masks:
            scores = scores.masked_fill(m.to(torch.bool), torch.finfo(scores.dtype).min)
        return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2, 3)
