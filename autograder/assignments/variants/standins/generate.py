"""Stand-in for generate.py, called by `generate`: each step rereads all tokens, and rows are filtered one by one."""

from typing import Any

import torch

Cache = list[tuple[torch.Tensor, torch.Tensor]]


def forward_cached(model: Any, tokens: torch.Tensor, cache: Cache | None = None) -> tuple[torch.Tensor, Cache]:
    """tokens (B, T_new) -> the logits (B, T_new, V). The cache contains tokens, (B, 1, T, 1), not keys and values."""
    read = tokens if cache is None else torch.hstack([cache[0][0][:, 0, :, 0].long(), tokens])
    if read.size(1) > model.max_len:
        raise ValueError(f"{read.size(1)} tokens for {model.max_len} positions")
    kept = read[:, None, :, None].to(torch.get_default_dtype())
    return model(read)[:, read.size(1) - tokens.size(1) :], [(kept, kept) for _ in model.blocks]


def filter_logits(
    logits: torch.Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> torch.Tensor:
    """(..., V) -> (..., V): the logits divided by the temperature; logits that are cut off are -inf."""
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]).div(temperature):
        best = row.argsort(descending=True)[:top_k]
        total, number = 0.0, 0
        for share in row[best].softmax(dim=0).tolist():
            if top_p is None or total < top_p:
                total, number = total + share, number + 1
        rows.append(torch.full_like(row, -torch.inf).index_copy(0, best[:number], row[best[:number]]))
    return torch.stack(rows).view_as(logits)
