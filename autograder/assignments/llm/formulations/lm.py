"""Formulations of the modern language model: other correct ways to write it."""

from autograder.authoring.formulations import Formulation


def _lm(name: str, function: str, text: str) -> Formulation:
    return Formulation(f"lm-{name}", "lm", {function: (text,)})


LM = [
    _lm(
        "mask-by-distance",
        "hidden_keys",
        """
        distance = torch.arange(past, past + new).view(-1, 1) - torch.arange(past - kept, past + new).view(1, -1)
        width = past + new + 1 if window is None else window
        return ~((distance >= 0) & (distance < width))
        """,
    ),
    _lm(
        "mask-by-triangles",
        "hidden_keys",
        """
        ones = torch.ones(new, kept + new, dtype=torch.bool)
        later = ones.triu(kept + 1)
        return later if window is None else later.logical_or(ones.tril(kept - window))
        """,
    ),
    _lm(
        "project-by-view",
        "Attention.project",
        """
        B, T, _ = x.shape
        D = self.d_head
        where = past + torch.arange(T)
        q = self.W_q(x).view(B, T, self.num_heads, D).permute(0, 2, 1, 3)
        k, v = (layer(x).view(B, T, self.num_kv_heads, D).permute(0, 2, 1, 3) for layer in (self.W_k, self.W_v))
        if self.qk_norm:
            q = self.q_norm(q)
            k = self.k_norm(k)
        return rotate(q, where), rotate(k, where), v
        """,
    ),
    _lm(
        "project-norm-before-transpose",
        "Attention.project",
        """
        q, k, v = (torch.stack(layer(x).split(self.d_head, dim=-1), dim=2) for layer in (self.W_q, self.W_k, self.W_v))
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        positions = torch.tensor([past + i for i in range(x.shape[1])])
        return rotate(q, positions), rotate(k, positions), v
        """,
    ),
    _lm(
        "attention-repeated-heads",
        "Attention.forward",
        """
        B, T, _ = x.shape
        q, k, v = self.project(x, past)
        if cache is not None:
            k = torch.cat((cache[0], k), dim=-2)
            v = torch.cat((cache[1], v), dim=-2)
        share = self.num_heads // self.num_kv_heads
        mask = hidden_keys(past, T, k.shape[-2] - T, self.window)
        scores = torch.einsum("bhid,bhjd->bhij", q, k.repeat_interleave(share, 1)) * self.d_head**-0.5
        scores = scores + torch.zeros_like(scores).masked_fill(mask, float("-inf"))
        y = torch.einsum("bhij,bhjd->bihd", scores.softmax(-1), v.repeat_interleave(share, 1)).reshape(B, T, -1)
        if self.window is not None and k.shape[-2] >= self.window:
            drop = k.shape[-2] - self.window + 1
            k, v = k[..., drop:, :], v[..., drop:, :]
        return self.W_o(y), (k, v)
        """,
    ),
    _lm(
        "attention-head-by-head",
        "Attention.forward",
        """
        q, k, v = self.project(x, past)
        if cache is not None:
            k = torch.cat([cache[0], k], 2)
            v = torch.cat([cache[1], v], 2)
        blocked = hidden_keys(past, x.size(1), k.size(2) - x.size(1), self.window)
        outputs = []
        for h in range(self.num_heads):
            g = h // (self.num_heads // self.num_kv_heads)
            s = q[:, h] @ k[:, g].mT / math.sqrt(self.d_head)
            outputs.append(s.masked_fill(blocked, torch.finfo(s.dtype).min).softmax(-1) @ v[:, g])
        if self.window is not None:
            n = min(self.window - 1, k.size(2))
            k, v = k.narrow(2, k.size(2) - n, n), v.narrow(2, v.size(2) - n, n)
        return self.W_o(torch.cat(outputs, dim=-1)), (k, v)
        """,
    ),
    _lm(
        "model-with-zip",
        "LanguageModel.forward",
        """
        hidden = self.dropout(self.embedding(tokens))
        if caches is None:
            caches = [None] * len(self.blocks)
        after = []
        for block, cache in zip(self.blocks, caches):
            hidden, kept = block(hidden, past=past, cache=cache)
            after += [kept]
        return self.norm(hidden) @ self.embedding.weight.T, after
        """,
    ),
    _lm(
        "loss-by-log-softmax",
        "LanguageModel.loss",
        """
        log_p = torch.log_softmax(self.forward(tokens[:, :-1])[0], dim=-1)
        return -torch.gather(log_p, 2, tokens[:, 1:, None]).mean()
        """,
    ),
    _lm(
        "loss-transposed",
        "LanguageModel.loss",
        "return F.cross_entropy(self(tokens[:, :-1])[0].transpose(1, 2), tokens[:, 1:])",
    ),
]
