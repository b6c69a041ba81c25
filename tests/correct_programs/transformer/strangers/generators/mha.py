# Differs from the solution in:

from collections.abc import Iterator


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        def projected() -> Iterator[torch.Tensor]:
            for linear, x in zip([self.W_q, self.W_k, self.W_v], [Q, K, V], strict=True):
                B, T, _ = x.size()
                yield linear(x).view(B, T, self.num_heads, self.d_k).transpose(1, 2)

        q, k, v = projected()
        return q, k, v

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        def masks() -> Iterator[torch.Tensor]:
            if key_padding_mask is not None:
                yield key_padding_mask[:, None, None, :]
            if attention_mask is not None:
                yield attention_mask[:, None]

        def heads() -> Iterator[torch.Tensor]:
            s = torch.einsum("bhid,bhjd->bhij", query, key) / math.sqrt(self.d_k)
            for mask in masks():
                s = s.masked_fill(mask != 0, torch.finfo(s.dtype).min)
            for w, v in zip(s.softmax(-1).unbind(1), value.unbind(1)):
                yield w @ v

        return torch.cat(list(heads()), dim=-1)
