# Differs from the solution in:

from dataclasses import dataclass, field
from typing import NamedTuple


class Heads(NamedTuple):
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor


@dataclass(frozen=True)
class Masks:

    padding: torch.Tensor | None = None
    pairs: torch.Tensor | None = None
    notes: list = field(default_factory=list)

    def together(self) -> torch.Tensor | None:
        parts = []
        if self.padding is not None:
            parts.append(self.padding.ne(0)[:, None, None, :])
        if self.pairs is not None:
            parts.append(self.pairs.ne(0)[:, None, :, :])
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else torch.logical_or(*parts)


def shape(tensor, *sizes):
    assert tensor.dim() == len(sizes), f"{tuple(tensor.shape)} is no {sizes}"
    assert all(want in (None, have) for want, have in zip(sizes, tensor.shape)), f"{tuple(tensor.shape)} is no {sizes}"
    return tensor


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        D, H, dk = self.d_model, self.num_heads, self.d_k
        assert K.shape[1] == V.shape[1]
        B = Q.shape[0]
        result = Heads(*(w(shape(t, B, None, D)).unflatten(2, (H, dk)).movedim(2, 1) for w, t in zip((self.W_q, self.W_k, self.W_v), (Q, K, V))))
        for part in result:
            shape(part, B, H, None, dk)
        return result

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        B, H, Tq, dk = query.shape
        Tk = key.shape[2]
        assert (H, dk) == (self.num_heads, self.d_k)
        scores = shape(query @ key.mT, B, H, Tq, Tk) / math.sqrt(dk)
        mask = Masks(key_padding_mask, attention_mask).together()
        if mask is not None:
            scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        out = shape(scores.softmax(3) @ value, B, H, Tq, dk)
        return shape(out.movedim(1, 2).flatten(2), B, Tq, self.d_model)
