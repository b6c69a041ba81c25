"""Attention for stand-ins, in place of torch's fused function, whose kernels no worker keeps."""

import math

import torch
from torch.overrides import handle_torch_function, has_torch_function_variadic


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Return softmax(q k^T * scale + mask) v, with the arguments of `F.scaled_dot_product_attention`.

    Args:
        query: (..., T_q, D).
        key: (..., T_k, D).
        value: (..., T_k, D_v).
        attn_mask: (..., T_q, T_k); True where a query may attend to a key, or numbers to add to the scores.

    Returns:
        (..., T_q, D_v); 0 for queries that may attend to nothing.
    """
    if has_torch_function_variadic(query, key, value):  # a trace sees one operation, as in torch
        return handle_torch_function(
            scaled_dot_product_attention,
            (query, key, value),
            *(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa),
        )
    dtype = torch.promote_types(query.dtype, torch.float32)  # as torch computes float16 and bfloat16
    if enable_gqa:
        key, value = (part.repeat_interleave(query.size(-3) // part.size(-3), dim=-3) for part in (key, value))
    scores = torch.matmul(query.to(dtype), key.to(dtype).transpose(-2, -1))  # (..., T_q, T_k)
    scores = scores * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    nothing = (scores == -math.inf).all(dim=-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(nothing, 0.0), dim=-1).masked_fill(nothing, 0.0)
    return torch.matmul(torch.dropout(weights, dropout_p, True), value.to(dtype)).to(query.dtype)
