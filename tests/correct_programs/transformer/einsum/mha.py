# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        assert d_model % num_heads == 0, "the heads must be of equal size"
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def _per_head(self, layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        weight = layer.weight.reshape(self.num_heads, self.d_k, self.d_model)  # (H, d_k, d_model)
        bias = layer.bias.reshape(self.num_heads, 1, self.d_k)  # (H, 1, d_k)
        return torch.einsum("btm,hfm->bhtf", x, weight) + bias

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self._per_head(self.W_q, Q), self._per_head(self.W_k, K), self._per_head(self.W_v, V)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = torch.einsum("bhqf,bhkf->bhqk", query * self.d_k**-0.5, key)
        forbidden = torch.zeros_like(scores, dtype=torch.bool)
        if key_padding_mask is not None:
            forbidden = torch.logical_or(forbidden, key_padding_mask.to(torch.bool)[:, None, None])
        if attention_mask is not None:
            forbidden = torch.logical_or(forbidden, attention_mask.to(torch.bool)[:, None])
        weights = scores.masked_fill(forbidden, -torch.inf).softmax(-1)
        # A row of -inf alone became NaN.
        weights = weights.masked_fill(forbidden.all(-1, keepdim=True), 0.0)
        return torch.einsum("bhqk,bhkf->bqhf", weights, value).flatten(2)  # (B, T_q, H, d_k) -> (B, T_q, d_model)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        q, k, v = self.compute_mh_qkv_transformation(query, key, value)
        merged = self.compute_scaled_dot_product_attention(q, k, v, key_padding_mask, attention_mask)
        return torch.einsum("bqm,nm->bqn", merged, self.W_o.weight) + self.W_o.bias
