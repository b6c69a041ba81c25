# Differs from the solution in:

from enum import Enum, auto


class Given(Enum):
    NOTHING = auto()
    PADDING = auto()
    PAIRS = auto()
    BOTH = auto()

    @classmethod
    def of(cls, padding, pairs) -> "Given":
        match (padding is not None, pairs is not None):
            case (False, False):
                return cls.NOTHING
            case (True, False):
                return cls.PADDING
            case (False, True):
                return cls.PAIRS
            case _:
                return cls.BOTH


class MultiHeadAttention(nn.Module):

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        match query.shape, key.shape:
            case (B, H, T_q, d_k), (_, _, T_k, _):
                pass
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
        match Given.of(key_padding_mask, attention_mask):
            case Given.NOTHING:
                mask = None
            case Given.PADDING:
                mask = key_padding_mask.reshape(B, 1, 1, T_k).ne(0)
            case Given.PAIRS:
                mask = attention_mask.reshape(-1, 1, T_q, T_k).ne(0)
            case Given.BOTH:
                mask = key_padding_mask.reshape(B, 1, 1, T_k).ne(0) + attention_mask.reshape(-1, 1, T_q, T_k).ne(0)
        if mask is not None:
            scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        x = torch.matmul(torch.softmax(scores, dim=-1), value)
        return x.transpose(1, 2).contiguous().view(B, T_q, H * d_k)
