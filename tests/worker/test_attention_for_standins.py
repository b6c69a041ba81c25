"""The attention of stand-ins gives what torch's own function gives."""

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from autograder.worker.attention_for_standins import scaled_dot_product_attention

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2}
MASK = torch.tensor([[True, False, True, False, False, True, True], [True] * 7, [False] * 6 + [True]])
OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a mask": {"attn_mask": MASK},
    "numbers to add": {"attn_mask": torch.linspace(-3, 3, 21).reshape(3, 7)},
    "a scale": {"scale": 0.3},
    "the past only": {"is_causal": True},
    "shared keys": {"enable_gqa": True},
}


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("options", OPTIONS)
def test_it_is_the_attention_of_torch(options, dtype):
    torch.manual_seed(0)
    wanted = dict(OPTIONS[options])
    if options == "numbers to add":
        wanted["attn_mask"] = wanted["attn_mask"].to(dtype)
    heads = 2 if options == "shared keys" else 4
    query = torch.randn(2, 4, 3, 8, dtype=dtype)
    key, value = (torch.randn(2, heads, 7, size, dtype=dtype) for size in (8, 5))
    found = scaled_dot_product_attention(query, key, value, **wanted)
    torch.testing.assert_close(
        found, F.scaled_dot_product_attention(query, key, value, **wanted), rtol=0, atol=LIMITS[dtype]
    )


def test_a_query_that_may_attend_to_nothing_gets_zeros():
    query = torch.randn(1, 3, 4)
    allowed = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    assert (scaled_dot_product_attention(query, query, query, attn_mask=allowed)[0, 1] == 0).all()
