"""Stand-in for scoring.py: attention with torch's own function, which takes the scores as an additive mask."""

import torch
from torch import nn
from torch.nn import functional as F


def _allowed(scores: torch.Tensor, valid_lens: torch.Tensor | None) -> torch.Tensor:
    """True where a query may attend to a key, (B, T_q, T_k).

    Raises:
        ValueError: if the lengths do not have the shape that the interface requires.
    """
    B, T_q, T_k = scores.shape
    if valid_lens is None:
        return torch.ones_like(scores, dtype=torch.bool)
    if tuple(valid_lens.shape) not in ((B,), (B, T_q)):
        raise ValueError(f"scores of shape {(B, T_q, T_k)} need lengths of shape {(B,)} or {(B, T_q)}")
    keys = torch.ones(T_k, dtype=torch.long, device=scores.device).cumsum(0)  # 1 to T_k
    return keys <= valid_lens.reshape(B, -1, 1).expand(B, T_q, 1)


def masked_softmax(scores: torch.Tensor, valid_lens: torch.Tensor | None = None) -> torch.Tensor:
    """The softmax of scores (B, T_q, T_k) over the first keys of each query; lengths (B,), (B, T_q) or None."""
    B, T_q, T_k = scores.shape
    none = scores.new_zeros(B, T_q, 1), scores.new_zeros(B, T_k, 1)  # queries and keys that add nothing
    identity = torch.eye(T_k, dtype=scores.dtype, device=scores.device).expand(B, T_k, T_k)
    allowed = _allowed(scores, valid_lens)
    weights = F.scaled_dot_product_attention(*none, identity, attn_mask=torch.where(allowed, scores, -torch.inf))
    return weights.nan_to_num()


class _Attention(nn.Module):
    """The base class of the three attention modules."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.attention_weights = torch.empty(0)

    def _average(
        self, scores: torch.Tensor, values: torch.Tensor, valid_lens: torch.Tensor | None = None
    ) -> torch.Tensor:
        weights = masked_softmax(scores, valid_lens)
        self.attention_weights = weights
        return torch.einsum("bqk,bkv->bqv", self.dropout(weights), values)


class DotProductAttention(_Attention):
    """Attention with the score q^T k / sqrt(d)."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__(dropout)

    def forward(
        self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, valid_lens: torch.Tensor | None = None
    ) -> torch.Tensor:
        """queries (B, T_q, d), keys (B, T_k, d), values (B, T_k, d_v) -> (B, T_q, d_v)."""
        scores = torch.einsum("bqd,bkd->bqk", queries, keys) * keys.size(2) ** -0.5
        return self._average(scores, values, valid_lens)


class BilinearAttention(_Attention):
    """Attention with the score q^T M k / sqrt(key_size)."""

    def __init__(self, query_size: int, key_size: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        self.M = nn.Parameter(torch.randn(query_size, key_size) / query_size**0.5)

    def forward(
        self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, valid_lens: torch.Tensor | None = None
    ) -> torch.Tensor:
        """queries (B, T_q, query_size), keys (B, T_k, key_size), values (B, T_k, d_v) -> (B, T_q, d_v)."""
        scores = torch.einsum("bqi,ij,bkj->bqk", queries, self.M, keys) * keys.size(2) ** -0.5
        return self._average(scores, values, valid_lens)


class AdditiveAttention(_Attention):
    """Attention with the score w_v^T tanh(W_q q + W_k k)."""

    def __init__(self, query_size: int, key_size: int, hidden_size: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        self.W_q = nn.Linear(query_size, hidden_size, bias=False)
        self.W_k = nn.Linear(key_size, hidden_size, bias=False)
        self.w_v = nn.Linear(hidden_size, 1, bias=False)

    def forward(
        self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, valid_lens: torch.Tensor | None = None
    ) -> torch.Tensor:
        """queries (B, T_q, query_size), keys (B, T_k, key_size), values (B, T_k, d_v) -> (B, T_q, d_v)."""
        q, k = self.W_q(queries), self.W_k(keys)
        # One query at a time, (B, T_k, h), to save memory.
        scores = [torch.tanh(k + q[:, t].unsqueeze(1)) @ self.w_v.weight[0] for t in range(q.size(1))]
        return self._average(torch.stack(scores, dim=1), values, valid_lens)
