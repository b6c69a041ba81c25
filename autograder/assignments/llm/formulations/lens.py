"""Formulations of stage 5, a look inside a model: other correct ways to write the code."""

from autograder.authoring.formulations import Formulation


def _lens(name: str, function: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"lens-{name}", "lens", {function: (text,)}, imports)


LENS = [
    _lens(
        "logit-lens-layer-by-layer",
        "logit_lens",
        """
        return torch.stack([model.norm(x) @ model.embedding.weight.T for x in stream])
        """,
    ),
    _lens(
        "logit-lens-by-hand",
        "logit_lens",
        """
        size = stream.square().mean(-1, keepdim=True).add(model.norm.eps).sqrt()
        return torch.einsum("lbtd,vd->lbtv", stream / size * model.norm.weight, model.embedding.weight)
        """,
    ),
    _lens(
        "attribution-head-by-head",
        "attribution",
        """
        L, B, T, H, D = heads.shape
        size = stream[-1].square().mean(-1).add(model.norm.eps).sqrt()
        row = model.embedding(target) * model.norm.weight
        of_heads = torch.zeros(L, H, B, T, dtype=stream.dtype)
        for layer in range(L):
            W = model.blocks[layer].attention.W_o.weight
            for h in range(H):
                share = heads[layer, :, :, h] @ W[:, h * D : (h + 1) * D].T
                of_heads[layer, h] = torch.einsum("btd,btd->bt", share, row) / size
        of_mlps = torch.stack([torch.einsum("btd,btd->bt", y, row) / size for y in mlps])
        return torch.einsum("btd,btd->bt", stream[0], row) / size, of_heads, of_mlps
        """,
    ),
    _lens(
        "attribution-direction-through-w-o",
        "attribution",
        """
        size = torch.sqrt((stream[-1] ** 2).mean(dim=-1) + model.norm.eps)
        row = F.embedding(target, model.embedding.weight) * model.norm.weight / size[..., None]
        split = []
        for block, out in zip(model.blocks, heads):
            back = (row @ block.attention.W_o.weight).unflatten(-1, out.shape[-2:])
            split.append((back * out).sum(-1).permute(2, 0, 1))
        dot = lambda x: (x * row).sum(-1)
        return dot(stream[0]), torch.stack(split), dot(mlps)
        """,
    ),
    _lens(
        "attribution-other-heads-zero",
        "attribution",
        """
        size = torch.sqrt((stream[-1] ** 2).mean(dim=-1, keepdim=True) + model.norm.eps)

        def share(x):
            return (x / size * model.norm.weight * model.embedding.weight[target]).sum(dim=-1)

        result = []
        for layer, block in enumerate(model.blocks):
            row = []
            for head in range(heads.size(3)):
                alone = torch.zeros_like(heads[layer])
                alone[:, :, head] = heads[layer][:, :, head]
                row.append(share(block.attention.W_o(alone.flatten(-2))))
            result.append(torch.stack(row))
        return share(stream[0]), torch.stack(result), share(mlps)
        """,
    ),
    _lens(
        "induction-diagonal",
        "induction_score",
        """
        along = weights.diagonal(offset=1 - period, dim1=-2, dim2=-1)  # of the queries period - 1, period, ...
        return along[..., 1:].mean(dim=-1).mean(dim=1)
        """,
    ),
    _lens(
        "induction-loop",
        "induction_score",
        """
        total = 0
        for t in range(period, weights.shape[-1]):
            total = total + weights[:, :, :, t, t - period + 1].mean(dim=1)
        return total / (weights.shape[-1] - period)
        """,
    ),
    _lens(
        "induction-gather",
        "induction_score",
        """
        rows = weights[..., period:, :]
        keys = torch.arange(1, rows.size(-2) + 1).expand(rows.shape[:-1]).unsqueeze(-1)
        return rows.gather(-1, keys).squeeze(-1).mean(dim=(1, -1))
        """,
    ),
    _lens(
        "ablate-columns-of-w-o",
        "ablate",
        """
        old = [block.attention.W_o.weight.clone() for block in model.blocks]
        try:
            for layer, head in heads:
                attention = model.blocks[layer].attention
                attention.W_o.weight[:, head * attention.d_head : (head + 1) * attention.d_head] = 0
            logits, _ = model(tokens)
        finally:
            for block, weight in zip(model.blocks, old):
                block.attention.W_o.weight.copy_(weight)
        return logits
        """,
    ),
    _lens(
        "ablate-a-copy",
        "ablate",
        """
        clone = copy.deepcopy(model)
        for layer, head in set(heads):
            attention = clone.blocks[layer].attention
            attention.W_o.weight.unflatten(1, (attention.num_heads, attention.d_head))[:, head] = 0.0
        return clone(tokens)[0]
        """,
        "import copy",
    ),
    _lens(
        "ablate-by-hand",
        "ablate",
        """
        x = model.embedding(tokens)
        T = tokens.size(1)
        for layer, block in enumerate(model.blocks):
            a = block.attention
            q, k, v = a.project(block.norm1(x), 0)
            k = k.repeat_interleave(a.num_heads // a.num_kv_heads, 1)
            v = v.repeat_interleave(a.num_heads // a.num_kv_heads, 1)
            scores = (q @ k.mT / a.d_head**0.5).masked_fill(hidden_keys(0, T, 0, a.window), float("-inf"))
            kept = torch.ones(a.num_heads, 1, 1, dtype=x.dtype)
            for at, head in heads:
                if at == layer:
                    kept[head] = 0
            out = scores.softmax(-1) @ v * kept
            x = x + a.W_o(out.transpose(1, 2).flatten(2))
            x = x + block.feed_forward(block.norm2(x))
        return model.norm(x) @ model.embedding.weight.T
        """,
    ),
]
