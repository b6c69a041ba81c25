# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model // num_heads * num_heads != d_model:
            raise ValueError("d_model must be a multiple of num_heads")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = int(d_model / num_heads)
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        results = []
        for layer, x in ((self.W_q, Q), (self.W_k, K), (self.W_v, V)):
            projected = layer(x)
            heads = []
            for h in range(self.num_heads):
                heads.append(projected[:, :, h * self.d_k : (h + 1) * self.d_k])  # (B, T, d_k)
            results.append(torch.stack(heads, dim=1))  # (B, H, T, d_k)
        return results[0], results[1], results[2]

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        B, H, T_q, _ = query.shape
        sentences = []
        for b in range(B):
            penalty = torch.zeros(T_q, key.shape[2], dtype=query.dtype, device=query.device)
            if key_padding_mask is not None:
                penalty = penalty - 1e9 * (key_padding_mask[b] != 0).to(query.dtype)  # the same for every query
            if attention_mask is not None:
                own = attention_mask[b if attention_mask.shape[0] > 1 else 0]
                penalty = penalty - 1e9 * (own != 0).to(query.dtype)
            heads = []
            for h in range(H):
                scores = query[b, h].mm(key[b, h].t()) / math.sqrt(self.d_k) + penalty  # (T_q, T_k)
                powers = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
                weights = powers / powers.sum(dim=1, keepdim=True)
                heads.append(weights.mm(value[b, h]))  # (T_q, d_k)
            sentences.append(torch.cat(heads, dim=1))  # (T_q, d_model)
        return torch.stack(sentences)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        q, k, v = self.compute_mh_qkv_transformation(query, key, value)
        x = self.compute_scaled_dot_product_attention(q, k, v, key_padding_mask, attention_mask)
        output: torch.Tensor = self.W_o(x)
        return output
