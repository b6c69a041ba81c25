"""Stage 2: attention in tiles (FlashAttention; Dao and others, 2022), with a softmax in one pass.

In shapes, T_q and T_k = number of queries and keys, D and D_v = features of keys and values, Q and K = queries and keys
of one tile. "..." are any axes before these, such as batch and heads.
"""

import math

import torch

State = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def online_softmax_step(
    m: torch.Tensor, total: torch.Tensor, acc: torch.Tensor, scores: torch.Tensor, v: torch.Tensor
) -> State:
    """Read one more tile of keys.

    The state of a query summarises all keys that it has read so far. With their scores s_j and values v_j,

        m = max of s_j,   total = sum of exp(s_j - m),   acc = sum of exp(s_j - m) v_j

    If the new tile has a larger score, m grows, and the old sums must be rescaled to the new m.

    Args:
        m: (..., Q); -inf for a query that has read nothing.
        total: (..., Q); 0 for such a query.
        acc: (..., Q, D_v); 0 for such a query.
        scores: the scores of the new keys, (..., Q, K); -inf where a query may not attend.
        v: the values of the new keys, (..., K, D_v).

    Returns:
        The new m, total and acc. For a query that could not attend to any key so far, m is still -inf, the sums are
        still 0, and nothing is NaN. The arguments do not change.
    """
    ### BEGIN SOLUTION
    new_m = torch.maximum(m, scores.amax(dim=-1))  # (..., Q)
    base = new_m.masked_fill(new_m == -math.inf, 0.0)  # exp(-inf - 0) is 0, but exp(-inf + inf) is NaN
    weights = torch.exp(scores - base.unsqueeze(-1))  # (..., Q, K)
    scale = torch.exp(m - base)  # (..., Q)
    return new_m, total * scale + weights.sum(dim=-1), acc * scale.unsqueeze(-1) + weights @ v
    ### END SOLUTION


def tiled_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    block_q: int,
    block_k: int,
    causal: bool = False,
    window: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute softmax(q k^T / sqrt(D)) v without ever building the matrix of all scores.

    The queries come last in the sequence: query i is at position T_k - T_q + i, key j at position j. With `causal`,
    a query attends to the keys up to its own position. With `window` as well, it attends only to the last `window` of
    these: at position p, to the keys p - window + 1, ..., p.

    Take at most block_q queries at a time, and for these at most block_k keys at a time, with `online_softmax_step`;
    where the tiles begin is up to you. No tensor may hold more than block_q x block_k scores or mask entries (for each
    index of the axes "..."). Skip tiles in which everything is hidden.

    Args:
        q: (..., T_q, D).
        k: (..., T_k, D).
        v: (..., T_k, D_v).
        block_q, block_k: the size of a tile. It need not divide T_q and T_k, and may be larger.
        causal: whether later keys are hidden.
        window: the largest number of keys that a query may see; None means no limit. Without `causal` it is None.

    Returns:
        out: (..., T_q, D_v). 0 for a query that sees no key.
        lse: (..., T_q), the logarithm of the sum of the exponentials of all (scaled) scores of a query: m + log(total).
            -inf for a query that sees no key.
    """
    ### BEGIN SOLUTION
    T_q, T_k = q.size(-2), k.size(-2)
    outs, lses = [], []
    for i in range(0, T_q, block_q):
        rows = q[..., i : i + block_q, :] / math.sqrt(q.size(-1))  # (..., Q, D)
        positions = torch.arange(i, i + rows.size(-2), device=q.device) + T_k - T_q  # (Q,)
        first, last = int(positions[0]), int(positions[-1])
        m = rows.new_full(rows.shape[:-1], -math.inf)
        total, acc = torch.zeros_like(m), rows.new_zeros(*rows.shape[:-1], v.size(-1))
        for j in range(0, T_k, block_k):
            columns = torch.arange(j, min(j + block_k, T_k), device=q.device)  # (K,)
            if (causal and j > last) or (window is not None and int(columns[-1]) <= first - window):
                continue
            scores = rows @ k[..., j : j + block_k, :].transpose(-2, -1)  # (..., Q, K)
            if causal:
                scores = scores.masked_fill(columns > positions[:, None], -math.inf)
            if window is not None:
                scores = scores.masked_fill(columns <= positions[:, None] - window, -math.inf)
            m, total, acc = online_softmax_step(m, total, acc, scores, v[..., j : j + block_k, :])
        outs.append(acc / total.masked_fill(total == 0, 1.0).unsqueeze(-1))
        lses.append(m + total.log())
    return torch.cat(outs, dim=-2), torch.cat(lses, dim=-1)
    ### END SOLUTION


def combine(
    out1: torch.Tensor, lse1: torch.Tensor, out2: torch.Tensor, lse2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute attention to the union of two sets of keys from the results for each set. No key is in both.

    Args:
        out1, out2: (..., T_q, D_v), as `tiled_attention` returns them: 0 for a query that sees no key.
        lse1, lse2: (..., T_q); -inf for a query that sees no key of this set.

    Returns:
        out and lse for the union: (..., T_q, D_v) and (..., T_q). Again 0 and -inf for a query that sees no key at all.
    """
    ### BEGIN SOLUTION
    lse = torch.logaddexp(lse1, lse2)
    base = lse.masked_fill(lse == -math.inf, 0.0)
    share1, share2 = torch.exp(lse1 - base).unsqueeze(-1), torch.exp(lse2 - base).unsqueeze(-1)  # (..., T_q, 1)
    return share1 * out1 + share2 * out2, lse
    ### END SOLUTION
