"""Other correct ways to write stage 2 of `attention`: the masked softmax and the three scoring functions."""

from autograder.authoring.formulations import Formulation

DOT, BILINEAR, ADDITIVE = (f"{name}Attention.forward" for name in ("DotProduct", "Bilinear", "Additive"))
F = "import torch.nn.functional as F"


def _softmax(name: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"softmax-{name}", "scoring", {"masked_softmax": (text,)}, imports)


def _scores(name: str, dot: str, bilinear: str, additive: str, imports: str = "") -> Formulation:
    return Formulation(
        f"scores-{name}", "scoring", {DOT: (dot,), BILINEAR: (bilinear,), ADDITIVE: (additive,)}, imports
    )


SCORING = [
    _softmax(
        "fill-inf",
        """
        if valid_lens is None:
            return F.softmax(scores, dim=-1)
        if valid_lens.ndim == 1:
            valid_lens = valid_lens.unsqueeze(1).expand(-1, scores.shape[1])
        mask = torch.arange(scores.shape[2]).view(1, 1, -1) < valid_lens.unsqueeze(-1)
        return F.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1).masked_fill(~mask, 0)
        """,
        F,
    ),
    _softmax(
        "repeat-interleave",
        """
        if valid_lens is None:
            return nn.functional.softmax(scores, dim=-1)
        shape = scores.shape
        if valid_lens.dim() == 1:
            valid_lens = torch.repeat_interleave(valid_lens, shape[1])
        else:
            valid_lens = valid_lens.reshape(-1)
        flat = scores.reshape(-1, shape[-1]).clone()
        mask = torch.arange(shape[-1], dtype=torch.float32)[None, :] < valid_lens[:, None]
        flat[~mask] = -1e9
        return nn.functional.softmax(flat.reshape(shape), dim=-1)
        """,
    ),
    _softmax(
        "exponentials",
        """
        B, T_q, T_k = scores.shape
        if valid_lens is None:
            valid_lens = torch.full((B,), T_k)
        lengths = valid_lens.view(B, -1, 1)
        allowed = (torch.arange(T_k) < lengths).expand(B, T_q, T_k).to(scores.dtype)
        highest = scores.masked_fill(allowed == 0, -1e30).max(dim=-1, keepdim=True).values
        weights = torch.exp((scores - highest) * allowed) * allowed
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-12)
        """,
    ),
    _softmax(
        "loop-over-sentences",
        """
        if valid_lens is None:
            return scores.softmax(-1)
        result = torch.zeros_like(scores)
        for b in range(scores.size(0)):
            for t in range(scores.size(1)):
                n = int(valid_lens[b] if valid_lens.dim() == 1 else valid_lens[b, t])
                result[b, t, :n] = torch.softmax(scores[b, t, :n], dim=0)
        return result
        """,
    ),
    _softmax(
        "added-penalty",
        """
        if valid_lens is None:
            return torch.softmax(scores, 2)
        lengths = valid_lens[:, None, None] if valid_lens.dim() == 1 else valid_lens[:, :, None]
        beyond = torch.arange(scores.shape[-1], device=scores.device)[None, None, :].ge(lengths)
        return torch.softmax(scores + beyond * -1e20, 2)
        """,
    ),
    _softmax(
        "nan-to-num",
        """
        if valid_lens is None:
            return torch.softmax(scores, dim=-1)
        lengths = valid_lens.float().reshape(len(scores), -1)
        where = torch.arange(scores.size(-1), dtype=torch.float)[None, None] >= lengths[..., None]
        return torch.nan_to_num(torch.where(where, -torch.inf, scores).softmax(dim=-1), nan=0.0)
        """,
    ),
    _scores(
        "bmm",
        """
        d = queries.shape[-1]
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(d)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return torch.bmm(self.dropout(self.attention_weights), values)
        """,
        """
        scores = torch.bmm(torch.matmul(queries, self.M), keys.permute(0, 2, 1)) / math.sqrt(keys.shape[-1])
        self.attention_weights = masked_softmax(scores, valid_lens)
        return torch.bmm(self.dropout(self.attention_weights), values)
        """,
        """
        queries, keys = self.W_q(queries), self.W_k(keys)
        features = queries.unsqueeze(2) + keys.unsqueeze(1)
        features = torch.tanh(features)
        scores = self.w_v(features).squeeze(-1)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return torch.bmm(self.dropout(self.attention_weights), values)
        """,
    ),
    _scores(
        "einsum",
        """
        scores = torch.einsum("bqd,bkd->bqk", queries, keys)
        weights = masked_softmax(scores * queries.shape[-1] ** -0.5, valid_lens)
        self.attention_weights = weights
        return torch.einsum("bqk,bkv->bqv", self.dropout(weights), values)
        """,
        """
        scores = torch.einsum("bqi,ij,bkj->bqk", queries, self.M, keys) / self.M.size(1) ** 0.5
        self.attention_weights = masked_softmax(scores, valid_lens)
        return torch.einsum("bqk,bkv->bqv", self.dropout(self.attention_weights), values)
        """,
        """
        hidden = (self.W_q(queries)[:, :, None, :] + self.W_k(keys)[:, None, :, :]).tanh()
        scores = torch.einsum("bqkh,h->bqk", hidden, self.w_v.weight.squeeze(0))
        self.attention_weights = masked_softmax(scores, valid_lens)
        return torch.einsum("bqk,bkv->bqv", self.dropout(self.attention_weights), values)
        """,
    ),
    _scores(
        "scaled-before",
        """
        root = torch.sqrt(torch.tensor(queries.size(2)))
        self.attention_weights = masked_softmax((queries / root) @ keys.mT, valid_lens=valid_lens)
        return torch.matmul(self.dropout(self.attention_weights), values)
        """,
        """
        scale = 1 / torch.sqrt(torch.tensor(float(keys.size(-1))))
        keys = keys @ self.M.t()  # into the space of the queries
        self.attention_weights = masked_softmax(queries @ (keys * scale).transpose(-2, -1), valid_lens)
        return self.dropout(self.attention_weights).matmul(values)
        """,
        """
        B, T_q, _ = queries.shape
        T_k = keys.shape[1]
        q = self.W_q(queries).unsqueeze(2).expand(B, T_q, T_k, -1)
        k = self.W_k(keys).unsqueeze(1).expand(B, T_q, T_k, -1)
        scores = self.w_v(torch.tanh(q + k)).view(B, T_q, T_k)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return self.dropout(self.attention_weights) @ values
        """,
    ),
    _scores(
        "float32-leaks",
        """
        scores = torch.matmul(queries, keys.transpose(-2, -1)) / torch.sqrt(torch.tensor(queries.size(-1)).float())
        self.attention_weights = masked_softmax(scores.float(), valid_lens).to(values.dtype)
        return self.dropout(self.attention_weights) @ values
        """,
        """
        scores = (queries @ self.M @ keys.transpose(-2, -1)).float() / math.sqrt(self.M.shape[1])
        self.attention_weights = masked_softmax(scores, valid_lens)
        return self.dropout(self.attention_weights).to(values.dtype) @ values
        """,
        """
        scores = self.w_v(torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None]))[..., 0]
        self.attention_weights = masked_softmax(scores.to(torch.float32), valid_lens).type_as(values)
        return self.dropout(self.attention_weights) @ values
        """,
    ),
    _scores(
        "own-masks",
        """
        scores = queries @ keys.transpose(1, 2) / queries.size(-1) ** 0.5
        if valid_lens is not None:
            lengths = valid_lens[:, None] if valid_lens.dim() == 1 else valid_lens
            scores = scores.masked_fill(torch.arange(keys.size(1)) >= lengths[..., None], -1e12)
        self.attention_weights = scores.softmax(dim=-1)
        return self.dropout(self.attention_weights) @ values
        """,
        """
        attention = DotProductAttention()
        query = queries @ self.M
        attention(query, keys, values, valid_lens)
        self.attention_weights = attention.attention_weights
        return self.dropout(self.attention_weights) @ values
        """,
        """
        rows = []
        for t in range(queries.size(1)):
            hidden = torch.tanh(self.W_q(queries[:, t : t + 1]) + self.W_k(keys))
            rows.append(self.w_v(hidden).squeeze(2))
        scores = torch.stack(rows, dim=1)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return self.dropout(self.attention_weights) @ values
        """,
    ),
]
