"""Stage 1: multi-head attention ("Attention Is All You Need", section 3.2).

Shapes are written with B = batch, T_q = query positions, T_k = key positions, H = heads, d_k = d_model / H. Q, K and V
are inputs, before the projections; q, k and v (query, key and value of a head) are what comes out of these.
"""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Attention with `num_heads` heads that work side by side, each on its own `d_k` features.

    W_q, W_k and W_v are three linear maps of d_model to d_model. Each of them holds the maps of all heads at once:
    the first d_k output features belong to head 0, the next d_k to head 1, and so on. What is not stored separately
    are the heads; you make them by reshaping.

    `forward` calls the other two methods, first the projection. No method changes the tensors that it is given.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Project the inputs with W_q, W_k and W_v and split each result into heads.

        Args:
            Q: inputs of the queries, (B, T_q, d_model).
            K: inputs of the keys, (B, T_k, d_model).
            V: inputs of the values, (B, T_k, d_model); there is one value for each key.

        Returns:
            q: (B, H, T_q, d_k), k: (B, H, T_k, d_k), v: (B, H, T_k, d_k).

        `compute_scaled_dot_product_attention` ends with the opposite step: it merges the heads again.
        """

        raise NotImplementedError("Stage 1: MultiHeadAttention.compute_mh_qkv_transformation is not written yet")

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Compute softmax(q k^T / sqrt(d_k)) v in every head, without the forbidden keys, and merge the heads.

        Both masks hold integers or booleans, and in both any non-zero entry, be it 1, 7 or -1, means "this key may not
        be attended to".
        If both are given, a key is allowed only where both hold zero.

        Args:
            query: q, already projected and split into heads, (B, H, T_q, d_k).
            key: k, (B, H, T_k, d_k).
            value: v, (B, H, T_k, d_k).
            key_padding_mask: (B, T_k), or None. Row b marks the padded keys of sentence b, for all of its queries.
            attention_mask: (1, T_q, T_k) or (B, T_q, T_k), or None. Entry [b, i, j] forbids query i to attend to
                key j. The causal mask of a decoder of length 4, for instance, is

                    0 1 1 1
                    0 0 1 1
                    0 0 0 1
                    0 0 0 0

        Returns:
            (B, T_q, d_model): the heads side by side. W_o is not applied here.

        A query that may attend to nothing at all should still give finite numbers; which ones does not matter, and
        it is not graded. Scores may be large numbers of either sign, 1000 or -1000, in one call.
        """
        # Make x, (B, H, T_q, d_k), from which the last lines merge the heads.
        raise NotImplementedError("Stage 1: MultiHeadAttention.compute_scaled_dot_product_attention is not written yet")
        B, _, T_q, _ = x.shape
        # (B, H, T_q, d_k) -> (B, T_q, H, d_k) -> (B, T_q, d_model)
        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Project, attend in every head, and mix the heads with W_o.

        Args:
            query: Q, not projected yet, (B, T_q, d_model).
            key: K, (B, T_k, d_model).
            value: V, (B, T_k, d_model).
            key_padding_mask: see `compute_scaled_dot_product_attention`.
            attention_mask: see `compute_scaled_dot_product_attention`.

        Returns:
            (B, T_q, d_model).
        """
        q, k, v = self.compute_mh_qkv_transformation(query, key, value)
        x = self.compute_scaled_dot_product_attention(q, k, v, key_padding_mask, attention_mask)
        return self.W_o(x)
