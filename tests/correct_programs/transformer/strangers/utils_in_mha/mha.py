# Differs from the solution in:

NEG_INF = -1000000000.0


QUERY_AXIS = -2


KEY_AXIS = -1


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    B, T, d_model = x.shape
    return x.reshape(B, T, num_heads, d_model // num_heads).transpose(1, 2)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def combine_masks(key_padding_mask, attention_mask):
    forbidden = None
    if key_padding_mask is not None:
        forbidden = key_padding_mask.ne(0)[:, None, None, :]
    if attention_mask is not None:
        other = attention_mask.ne(0)[:, None, :, :]
        forbidden = other if forbidden is None else forbidden | other
    return forbidden


def add_norm(x, sublayer_output, norm, dropout):
    return norm(x + dropout(sublayer_output))


def ffn(layer, x):
    return layer.fc2(layer.activation_fn(layer.fc1(x)))


def last(x, axis=1):
    return x.narrow(axis, x.size(axis) - 1, 1)


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return (
            split_heads(self.W_q(Q), self.num_heads),
            split_heads(self.W_k(K), self.num_heads),
            split_heads(self.W_v(V), self.num_heads),
        )

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        scores = torch.matmul(query, key.transpose(QUERY_AXIS, KEY_AXIS))
        scores = scores / math.sqrt(self.d_k)
        forbidden = combine_masks(key_padding_mask, attention_mask)
        if forbidden is not None:
            scores = scores.masked_fill(forbidden, NEG_INF)
        x = scores.softmax(dim=KEY_AXIS).matmul(value)
        return merge_heads(x)
