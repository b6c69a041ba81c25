"""Stand-in for heads.py: the attention that other stages build on, with torch's own function."""

import torch
from torch import nn
from torch.nn import functional as F


def _allowed(mask: torch.Tensor | None, B: int, T: int) -> torch.Tensor | None:
    """The allowed keys, (1 or B, T, T). A query without allowed keys attends to all keys, in every release of torch.

    Raises:
        ValueError: if the mask is not boolean or has a shape that the interface does not allow.
    """
    if mask is None:
        return None
    if mask.dtype != torch.bool or tuple(mask.shape) not in {(1, T, T), (B, T, T), (B, 1, T), (1, 1, T)}:
        shape = tuple(mask.shape)
        raise ValueError(f"attention needs a boolean mask of shape (1, T, T), (B, T, T) or (B, 1, T), not {shape}")
    allowed = ~mask.expand(-1, T, -1)
    return allowed | ~allowed.any(dim=-1, keepdim=True)


def _attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor | None, dropout: nn.Dropout
) -> torch.Tensor:
    """Attention with torch's function, (..., T, d_head).

    With dropout, unit vectors are passed as values, so that torch's function returns the weights.
    """
    if not (dropout.training and dropout.p):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    units = torch.eye(k.size(-2), dtype=k.dtype, device=k.device).expand(*k.shape[:-1], -1)  # (..., T, T)
    return torch.matmul(dropout(F.scaled_dot_product_attention(q, k, units, attn_mask=allowed)), v)


class AttentionHead(nn.Module):
    """One head of self-attention."""

    def __init__(self, d_model: int, d_head: int, dropout: float) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_head) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B, T, d_model) -> (B, T, d_head)."""
        allowed = _allowed(mask, x.size(0), x.size(1))
        return _attend(self.W_q(x), self.W_k(x), self.W_v(x), allowed, self.dropout)


class MultiHeadAttentionSimple(nn.Module):
    """Multi-head attention that computes one head at a time."""

    def __init__(self, d_model: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = nn.ModuleList(AttentionHead(d_model, d_model // num_heads, dropout) for _ in range(num_heads))
        self.W_o = nn.Linear(d_model, d_model)
        self.output_dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B, T, d_model) -> (B, T, d_model)."""
        parts = self.W_o.weight.chunk(len(self.heads), dim=1)  # (d_model, d_head) each
        mixed = [F.linear(head(x, mask), part) for head, part in zip(self.heads, parts, strict=True)]
        return self.output_dropout(torch.stack(mixed).sum(dim=0) + self.W_o.bias)


class MultiHeadAttentionEfficient(nn.Module):
    """Multi-head attention that computes all heads at once."""

    def __init__(self, d_model: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.num_heads, self.d_head = num_heads, d_model // num_heads
        self.W_qkv, self.W_o = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.attention_dropout, self.output_dropout = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B, T, d_model) -> (B, T, d_model)."""
        # (B, T, 3 * d_model) -> (B, T, 3, H, d_head) -> three of (B, H, T, d_head)
        q, k, v = self.W_qkv(x).unflatten(-1, (3, self.num_heads, self.d_head)).transpose(1, 3).unbind(dim=2)
        allowed = _allowed(mask, x.size(0), x.size(1))
        heads = _attend(q, k, v, None if allowed is None else allowed.unsqueeze(1), self.attention_dropout)
        return self.output_dropout(self.W_o(torch.cat(heads.unbind(dim=1), dim=-1)))
