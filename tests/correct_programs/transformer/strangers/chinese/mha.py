# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        def 分头(线性层, 输入):
            批, 长, _ = 输入.shape
            return 线性层(输入).reshape(批, 长, self.num_heads, self.d_k).permute(0, 2, 1, 3)

        查询, 键, 值 = 分头(self.W_q, Q), 分头(self.W_k, K), 分头(self.W_v, V)
        return 查询, 键, 值

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        分数 = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(self.d_k)
        掩码 = torch.zeros(分数.shape, dtype=torch.uint8, device=分数.device)
        if key_padding_mask is not None:
            掩码 = 掩码 | key_padding_mask.ne(0).to(torch.uint8)[:, None, None, :]
        if attention_mask is not None:
            掩码 = 掩码 | attention_mask.ne(0).to(torch.uint8)[:, None]
        最小 = torch.finfo(分数.dtype).min
        权重 = torch.softmax(torch.where(掩码 == 1, torch.tensor(最小, dtype=分数.dtype, device=分数.device), 分数), dim=-1)
        结果 = torch.matmul(权重, value)
        return torch.cat([结果[:, 头] for 头 in range(self.num_heads)], dim=-1)
