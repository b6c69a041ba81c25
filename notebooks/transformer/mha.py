"""Stage 1: multi-head attention ("Attention Is All You Need", section 3.2).

Shapes are written with B = batch, T_q = query positions, T_k = key positions, H = heads, d_k = d_model / H. Q, K and V
are the inputs, before the projections; q, k and v are the projected queries, keys and values of each head.
"""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Attention with `num_heads` parallel heads, each on its own `d_k` features.

    W_q, W_k and W_v are three linear maps from d_model to d_model. Each of them holds the projections of all heads:
    the first d_k output features belong to head 0, the next d_k to head 1, and so on. The heads are not stored
    separately; you split them by reshaping.

    `forward` calls the other two methods, the projection first. No method changes its input tensors.
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
            Q: the input for the queries, (B, T_q, d_model).
            K: the input for the keys, (B, T_k, d_model).
            V: the input for the values, (B, T_k, d_model), with one value for each key.

        Returns:
            q: (B, H, T_q, d_k), k: (B, H, T_k, d_k), v: (B, H, T_k, d_k).

        `compute_scaled_dot_product_attention` ends with the reverse step: it merges the heads.
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

        Both masks hold integers or booleans. In both, zero means that a key is allowed. Any non-zero entry, such as 1,
        7 or -1, means that the key is forbidden.
        If both masks are given, a key is allowed only where both are zero.

        Args:
            query: q, already projected and split into heads, (B, H, T_q, d_k).
            key: k, (B, H, T_k, d_k).
            value: v, (B, H, T_k, d_k).
            key_padding_mask: (B, T_k), or None. Row b marks the padded keys of sentence b, for all of its queries.
            attention_mask: (1, T_q, T_k) or (B, T_q, T_k), or None. Entry [b, i, j] is non-zero where query i may
                not attend to key j. For example, the causal mask of a decoder of length 4 is

                    0 1 1 1
                    0 0 1 1
                    0 0 0 1
                    0 0 0 0

        Returns:
            (B, T_q, d_model): the concatenated heads. W_o is not applied here.

        A query without any allowed key should still have a finite result; its values do not matter and are not
        graded. Scores in one call may be large, both positive and negative, such as 1000 and -1000.
        """
        # Compute x, (B, H, T_q, d_k). The last lines merge its heads.
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
            query: Q, before the projection, (B, T_q, d_model).
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
