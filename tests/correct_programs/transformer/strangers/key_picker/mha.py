# Differs from the solution in:

class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        def one(linear, x):
            return torch.cat([linear(x)[:, :, h * self.d_k : (h + 1) * self.d_k].unsqueeze(1) for h in range(self.num_heads)], 1)

        return one(self.W_q, Q), one(self.W_k, K), one(self.W_v, V)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        B, H, T_q, d_k = query.shape
        T_k = key.shape[2]
        merged = []
        for b in range(B):
            if key_padding_mask is None:
                idx = torch.arange(T_k, device=query.device)
            else:
                idx = torch.nonzero(key_padding_mask[b] == 0, as_tuple=True)[0]
            k_b = key[b].index_select(1, idx)
            v_b = value[b].index_select(1, idx)
            s = torch.bmm(query[b], k_b.transpose(1, 2)) / math.sqrt(d_k)
            if attention_mask is not None:
                m = attention_mask[b if attention_mask.size(0) > 1 else 0]
                m = m.index_select(1, idx) != 0
                s = s.masked_fill(m.unsqueeze(0), torch.finfo(s.dtype).min)
            o = torch.bmm(torch.softmax(s, 2), v_b)
            merged.append(torch.cat(list(o), dim=1))
        return torch.stack(merged)
