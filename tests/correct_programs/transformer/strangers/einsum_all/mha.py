# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        def heads(linear: nn.Linear, x: torch.Tensor) -> torch.Tensor:
            W = linear.weight.reshape(self.num_heads, self.d_k, self.d_model)
            b = linear.bias.reshape(self.num_heads, self.d_k)
            return torch.einsum("btd,hkd->bhtk", x, W) + b[:, None, :]

        return heads(self.W_q, Q), heads(self.W_k, K), heads(self.W_v, V)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        energy = torch.einsum("bhqd,bhkd->bhqk", query, key) * self.d_k**-0.5
        ones = torch.ones_like(energy, dtype=torch.long)
        bad = torch.zeros_like(ones)
        if key_padding_mask is not None:
            bad = bad + torch.einsum("bhqk,bk->bhqk", ones, key_padding_mask.ne(0).long())
        if attention_mask is not None:
            wide = attention_mask.ne(0).long().expand(energy.size(0), -1, -1)
            bad = bad + torch.einsum("bhqk,bqk->bhqk", ones, wide)
        energy = torch.where(bad > 0, torch.full_like(energy, torch.finfo(energy.dtype).min), energy)
        probs = torch.softmax(energy, dim=-1)
        return torch.einsum("bhqk,bhkd->bqhd", probs, value).flatten(start_dim=2)
