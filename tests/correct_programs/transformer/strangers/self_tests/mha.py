# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        B, T_q = Q.shape[:2]
        T_k = K.shape[1]
        q = self.W_q(Q).view(B, T_q, self.num_heads, self.d_k).transpose(1, 2)
        k = self.W_k(K).view(B, T_k, self.num_heads, self.d_k).transpose(1, 2)
        v = self.W_v(V).view(B, T_k, self.num_heads, self.d_k).transpose(1, 2)
        return (q, k, v)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :].bool(), -1000000000.0)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask[:, None, :, :].bool(), -1000000000.0)
        x = torch.matmul(torch.softmax(scores, dim=-1), value)
        B, _, T_q, _ = x.shape
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)


def _test_against_loops():
    torch.manual_seed(0)
    attention = MultiHeadAttention(6, 3)
    q, k, v = (torch.randn(2, 3, 4, 2), torch.randn(2, 3, 5, 2), torch.randn(2, 3, 5, 2))
    mask = torch.tensor([[0, 0, 0, 0, 1], [0, 1, 0, 0, 0]])
    result = attention.compute_scaled_dot_product_attention(q, k, v, mask)
    for b in range(2):
        for h in range(3):
            for i in range(4):
                keys = [j for j in range(5) if mask[b, j] == 0]
                e = [math.exp(float(q[b, h, i] @ k[b, h, j]) / math.sqrt(2)) for j in keys]
                answer = sum((w / sum(e) * v[b, h, j] for w, j in zip(e, keys)))
                assert torch.allclose(result[b, i, 2 * h : 2 * h + 2], answer, atol=1e-05), (b, h, i)


if __name__ == "__main__":
    _test_against_loops()
    print("mha: ok")
