# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return tuple((lambda y: y.reshape(y.shape[0], y.shape[1], self.num_heads, self.d_k).transpose(1, 2))(w(x)) for w, x in ((self.W_q, Q), (self.W_k, K), (self.W_v, V)))

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        return (((s := query @ key.transpose(-1, -2) / self.d_k ** .5).masked_fill((((key_padding_mask != 0)[:, None, None] if key_padding_mask is not None else torch.zeros((), dtype=torch.bool, device=s.device)) | ((attention_mask != 0)[:, None] if attention_mask is not None else torch.zeros((), dtype=torch.bool, device=s.device))), torch.finfo(s.dtype).min)).softmax(-1) @ value).transpose(1, 2).flatten(2)
