"""Stage 2: attention scoring functions and masks from lengths (Bahdanau et al. 2014, Vaswani et al. 2017).

Shapes are written with B = batch, T_q = query positions, T_k = key positions, d = features of a key, d_v = features of
a value.
"""

import math

import torch
from torch import nn


def masked_softmax(scores: torch.Tensor, valid_lens: torch.Tensor | None = None) -> torch.Tensor:
    """The softmax over the keys, where a query may attend only to the first few keys.

    Args:
        scores: (B, T_q, T_k); they may be large, such as 1000 or -1000. Return a new tensor; do not change the scores.
        valid_lens: the number of allowed keys; a length of n allows keys 0 to n - 1. Integers: (B,) with one length
            for all queries of a sequence, or (B, T_q) with one length for each query. None allows all keys.

    Returns:
        (B, T_q, T_k): weights that sum to 1 over the keys, and are exactly 0 for forbidden keys.

    With a length of 0, a query has no key to attend to. Its weights must be finite, but may have any value.
    """
    raise NotImplementedError("Stage 2: masked_softmax is not written yet")


class DotProductAttention(nn.Module):
    """Attention with the score q^T k / sqrt(d), for queries and keys of the same size d.

    `attention_weights` holds the weights of the last call, before dropout, (B, T_q, T_k). It is empty before the
    first call.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.attention_weights = torch.empty(0)

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        valid_lens: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Score, mask, keep the weights in `self.attention_weights`, apply dropout, and average the values.

        Dropout acts only on the weights.

        Args:
            queries: (B, T_q, d).
            keys: (B, T_k, d).
            values: (B, T_k, d_v).
            valid_lens: see `masked_softmax`.

        Returns:
            (B, T_q, d_v).
        """
        raise NotImplementedError("Stage 2: DotProductAttention.forward is not written yet")


class BilinearAttention(nn.Module):
    """Attention with the score q^T M k / sqrt(key_size), for queries and keys whose sizes may differ.

    `attention_weights` holds the weights of the last call, before dropout, (B, T_q, T_k). It is empty before the
    first call.
    """

    def __init__(self, query_size: int, key_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.M = nn.Parameter(torch.randn(query_size, key_size) / math.sqrt(query_size))
        self.dropout = nn.Dropout(dropout)
        self.attention_weights = torch.empty(0)

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        valid_lens: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Score, mask, keep the weights in `self.attention_weights`, apply dropout, and average the values.

        Dropout acts only on the weights.

        Args:
            queries: (B, T_q, query_size).
            keys: (B, T_k, key_size).
            values: (B, T_k, d_v).
            valid_lens: see `masked_softmax`.

        Returns:
            (B, T_q, d_v).
        """
        raise NotImplementedError("Stage 2: BilinearAttention.forward is not written yet")


class AdditiveAttention(nn.Module):
    """Attention with the score w_v^T tanh(W_q q + W_k k): a network with one hidden layer of `hidden_size`.

    `attention_weights` holds the weights of the last call, before dropout, (B, T_q, T_k). It is empty before the
    first call.
    """

    def __init__(self, query_size: int, key_size: int, hidden_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.W_q = nn.Linear(query_size, hidden_size, bias=False)
        self.W_k = nn.Linear(key_size, hidden_size, bias=False)
        self.w_v = nn.Linear(hidden_size, 1, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.attention_weights = torch.empty(0)

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        valid_lens: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Score, mask, keep the weights in `self.attention_weights`, apply dropout, and average the values.

        Broadcasting combines every query with every key, without a loop: (B, T_q, 1, h) + (B, 1, T_k, h), with
        h = hidden_size. Dropout acts only on the weights. Do not scale the scores.

        Args:
            queries: (B, T_q, query_size).
            keys: (B, T_k, key_size).
            values: (B, T_k, d_v).
            valid_lens: see `masked_softmax`.

        Returns:
            (B, T_q, d_v).
        """
        raise NotImplementedError("Stage 2: AdditiveAttention.forward is not written yet")
