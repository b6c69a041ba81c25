# Differs from the solution in:

def split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    B, T, D = x.shape
    return x.reshape(B, T, heads, D // heads).permute(0, 2, 1, 3)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    B, H, T, d_k = x.shape
    return x.permute(0, 2, 1, 3).reshape(B, T, H * d_k)


def forbid(scores: torch.Tensor, mask: torch.Tensor | None, axis: tuple[int, ...]) -> torch.Tensor:
    if mask is None:
        return scores
    for a in axis:
        mask = mask.unsqueeze(a)
    return scores.masked_fill(mask != 0, torch.finfo(scores.dtype).min)


def add_and_norm(x, y, norm, dropout):
    return norm(x + dropout(y))


def ffn(layer, x):
    return layer.fc2(layer.activation_fn(layer.fc1(x)))


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        H = self.num_heads
        return split_heads(self.W_q(Q), H), split_heads(self.W_k(K), H), split_heads(self.W_v(V), H)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = (query @ key.transpose(-1, -2)).div(self.d_k**0.5)
        scores = forbid(scores, key_padding_mask, (1, 1))
        scores = forbid(scores, attention_mask, (1,))
        return merge_heads(torch.softmax(scores, dim=-1) @ value)
