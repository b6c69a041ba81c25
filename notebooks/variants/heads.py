"""Stage 2: self-attention, head by head and with all heads at once.

In shapes, B = batch, T = positions, H = heads, d_head = d_model / H.

A mask is a boolean tensor in which True means "may not be attended to". It has one of these shapes:

    (1, T, T)   the same mask for the whole batch, such as a causal mask, True above the diagonal
    (B, T, T)   one mask for each sequence
    (B, 1, T)   for each sequence, the same keys are masked for all queries, as in a padding mask

If entry [b, i, j] is True, query i of sequence b may not attend to key j. None means that nothing is masked. If a
query may attend to nothing at all, the results must still be finite; their values do not matter.
"""

import math

import torch
from torch import nn


class AttentionHead(nn.Module):
    """One head of self-attention: softmax(q k^T / sqrt(d_head)) v, with dropout on the weights."""

    def __init__(self, d_model: int, d_head: int, dropout: float) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_head)
        self.W_k = nn.Linear(d_model, d_head)
        self.W_v = nn.Linear(d_model, d_head)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Attend from every position to the positions that the mask allows.

        Divide the scores by the square root of d_head, not of d_model. Apply dropout to the weights, after the softmax.
        Scores may be very high or very low, such as 1000 or -1000.

        Args:
            x: (B, T, d_model), the input for queries, keys and values.
            mask: boolean, True where a query may not attend: (1, T, T), (B, T, T), (B, 1, T), or None. If a query
                may attend to nothing, the results must still be finite.

        Returns:
            (B, T, d_head). x and the mask do not change.
        """
        raise NotImplementedError("Stage 2: AttentionHead.forward is not written yet")


class MultiHeadAttentionSimple(nn.Module):
    """Multi-head attention as a list of heads, called one after the other."""

    def __init__(self, d_model: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        # In a plain list the heads would be missing from parameters(), state_dict(), train() and eval().
        self.heads = nn.ModuleList(AttentionHead(d_model, d_model // num_heads, dropout) for _ in range(num_heads))
        self.W_o = nn.Linear(d_model, d_model)
        self.output_dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Concatenate the outputs of the heads, head 0 first, and mix them: Dropout(W_o [head_0, head_1, ...]).

        Args:
            x: (B, T, d_model).
            mask: as in `AttentionHead.forward`.

        Returns:
            (B, T, d_model).
        """
        raise NotImplementedError("Stage 2: MultiHeadAttentionSimple.forward is not written yet")


class MultiHeadAttentionEfficient(nn.Module):
    """Multi-head attention with all heads at once, from a single linear map.

    The 3 * d_model output features of `W_qkv` are the queries of all heads, then the keys of all heads, then the
    values of all heads, d_model each. Within each third, the first d_head features belong to head 0, the next d_head
    to head 1, and so on.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.W_qkv = nn.Linear(d_model, 3 * d_model)
        self.W_o = nn.Linear(d_model, d_model)
        self.attention_dropout = nn.Dropout(dropout)
        self.output_dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Attend in all heads at once, merge the heads, and mix them with W_o.

        The scale, mask and dropouts are the same as in `MultiHeadAttentionSimple`: `attention_dropout` on the weights,
        `output_dropout` after W_o. You need no loop over heads.

        Args:
            x: (B, T, d_model).
            mask: as in `AttentionHead.forward`, the same for all heads: (1, T, T), (B, T, T), (B, 1, T), or None.

        Returns:
            (B, T, d_model).
        """
        raise NotImplementedError("Stage 2: MultiHeadAttentionEfficient.forward is not written yet")


def copy_weights(simple: MultiHeadAttentionSimple, efficient: MultiHeadAttentionEfficient) -> None:
    """Copy the weights of `simple` into `efficient`, so that both must return the same result."""
    names = [(head, name) for name in ("W_q", "W_k", "W_v") for head in simple.heads]  # queries first, head 0 first
    with torch.no_grad():
        weights = torch.cat([head.get_parameter(f"{name}.weight") for head, name in names])  # (3 * d_model, d_model)
        biases = torch.cat([head.get_parameter(f"{name}.bias") for head, name in names])  # (3 * d_model)
        efficient.W_qkv.weight.copy_(weights)
        efficient.W_qkv.bias.copy_(biases)
    efficient.W_o.load_state_dict(simple.W_o.state_dict())
