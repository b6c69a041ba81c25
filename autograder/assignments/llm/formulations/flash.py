"""Formulations of attention in tiles: other correct ways to write it."""

from autograder.authoring.formulations import Formulation


def _flash(name: str, function: str, text: str) -> Formulation:
    return Formulation(f"flash-{name}", "flash", {function: (text,)})


FLASH = [
    _flash(
        "step-with-where",
        "online_softmax_step",
        """
        best = torch.max(torch.cat([m.unsqueeze(-1), scores], dim=-1), dim=-1, keepdim=True).values
        safe = torch.where(torch.isinf(best), torch.zeros_like(best), best)
        p = (scores - safe).exp()
        factor = (m.unsqueeze(-1) - safe).exp()
        sums = total.unsqueeze(-1) * factor + p.sum(-1, keepdim=True)
        return best.squeeze(-1), sums.squeeze(-1), torch.matmul(p, v) + factor * acc
        """,
    ),
    _flash(
        "step-finite-maximum",
        "online_softmax_step",
        """
        lowest = torch.finfo(scores.dtype).min / 4
        new_m = torch.maximum(m.clamp(min=lowest), scores.amax(-1).clamp(min=lowest))
        p = torch.exp(scores - new_m[..., None])
        scale = torch.exp(m - new_m)
        return new_m, scale * total + p.sum(-1), scale[..., None] * acc + p @ v
        """,
    ),
    _flash(
        "step-nan-to-zero",
        "online_softmax_step",
        """
        new_m = torch.maximum(m, scores.amax(-1))
        p = torch.nan_to_num(torch.exp(scores - new_m[..., None]), nan=0.0)
        scale = torch.nan_to_num(torch.exp(m - new_m), nan=0.0)
        return new_m, scale * total + p.sum(-1), scale[..., None] * acc + p @ v
        """,
    ),
    _flash(
        "tiles-into-place",
        "tiled_attention",
        """
        T_q, T_k, D = q.size(-2), k.size(-2), q.size(-1)
        out = torch.zeros(*q.shape[:-1], v.size(-1), dtype=q.dtype)
        lse = torch.full(q.shape[:-1], -math.inf, dtype=q.dtype)
        offset = T_k - T_q
        for start in range(0, T_q, block_q):
            stop = min(start + block_q, T_q)
            block = q[..., start:stop, :]
            m = torch.full(block.shape[:-1], -math.inf, dtype=q.dtype)
            total = torch.zeros(block.shape[:-1], dtype=q.dtype)
            acc = torch.zeros(*block.shape[:-1], v.size(-1), dtype=q.dtype)
            end = min(T_k, stop + offset) if causal else T_k
            begin = max(0, start + offset - window + 1) if window is not None else 0
            for left in range(begin, end, block_k):
                right = min(left + block_k, end)
                s = torch.einsum("...qd,...kd->...qk", block, k[..., left:right, :]) * D**-0.5
                if causal:
                    distance = torch.arange(start, stop).unsqueeze(1) + offset - torch.arange(left, right)
                    bad = distance < 0
                    if window is not None:
                        bad |= distance >= window
                    s[..., bad] = -math.inf
                m, total, acc = online_softmax_step(m, total, acc, s, v[..., left:right, :])
            out[..., start:stop, :] = torch.where(total[..., None] > 0, acc / total[..., None], torch.zeros_like(acc))
            lse[..., start:stop] = m + torch.log(total)
        return out, lse
        """,
    ),
    _flash(
        "tiles-split",
        "tiled_attention",
        """
        T_q, T_k = q.size(-2), k.size(-2)
        results = []
        for rows, at in zip(q.split(block_q, dim=-2), torch.arange(T_k - T_q, T_k).split(block_q)):
            zero = rows.new_zeros(rows.shape[:-1])
            state = zero - float("inf"), zero, zero.unsqueeze(-1).repeat_interleave(v.size(-1), dim=-1)
            for keys, values, of in zip(k.split(block_k, -2), v.split(block_k, -2), torch.arange(T_k).split(block_k)):
                hidden = torch.zeros(len(at), len(of), dtype=torch.bool)
                if causal:
                    hidden |= of[None] > at[:, None]
                if window is not None:
                    hidden |= at[:, None] - of[None] >= window
                if hidden.all():
                    continue
                scores = (rows @ keys.mT / rows.size(-1) ** 0.5).masked_fill(hidden, float("-inf"))
                state = online_softmax_step(*state, scores, values)
            m, total, acc = state
            results.append(((acc / total.clamp(min=1e-300).unsqueeze(-1)), m + total.log()))
        outs, lses = zip(*results)
        return torch.cat(outs, -2), torch.cat(lses, -1)
        """,
    ),
    _flash(
        "combine-by-maximum",
        "combine",
        """
        m = torch.maximum(lse1, lse2)
        m = torch.where(torch.isinf(m), torch.zeros_like(m), m)
        a, b = torch.exp(lse1 - m), torch.exp(lse2 - m)
        total = a + b
        divisor = torch.where(total == 0, torch.ones_like(total), total)
        return (a / divisor)[..., None] * out1 + (b / divisor)[..., None] * out2, m + torch.log(total)
        """,
    ),
    _flash(
        "combine-softmax",
        "combine",
        """
        both = torch.stack([lse1, lse2])
        shares = torch.nan_to_num(both.softmax(dim=0)).unsqueeze(-1)
        return (shares * torch.stack([out1, out2])).sum(dim=0), both.logsumexp(dim=0)
        """,
    ),
    _flash(
        "combine-sigmoid",
        "combine",
        """
        share = torch.nan_to_num(torch.sigmoid(lse1 - lse2), nan=0.5)[..., None]
        return out2 + share * (out1 - out2), torch.logaddexp(lse1, lse2)
        """,
    ),
]
