# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.size(0), x.size(1), self.num_heads, self.d_k).transpose(1, 2)

    def _scores(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        return query @ key.transpose(-1, -2) / math.sqrt(self.d_k)

    @staticmethod
    def _mask(scores: torch.Tensor, mask: torch.Tensor | None, *new_axes: int) -> torch.Tensor:
        if mask is None:
            return scores
        for axis in new_axes:
            mask = mask.unsqueeze(axis)
        return scores.masked_fill(mask.to(torch.bool), torch.finfo(scores.dtype).min)

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return (self._heads(self.W_q(Q)), self._heads(self.W_k(K)), self._heads(self.W_v(V)))

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = self._scores(query, key)
        scores = self._mask(scores, key_padding_mask, 1, 2)
        scores = self._mask(scores, attention_mask, 1)
        x = scores.softmax(-1) @ value
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)


class CrossAttention(MultiHeadAttention):
    def forward(self, query, memory, memory_padding_mask=None):
        return super().forward(query, memory, memory, memory_padding_mask)


class SelfAttention(MultiHeadAttention):
    def forward(self, x, padding_mask=None, attention_mask=None, keys=None):
        keys = x if keys is None else keys
        return super().forward(x, keys, keys, padding_mask, attention_mask)
