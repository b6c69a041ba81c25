"""What tests of the relatives' modules share: closeness, masks, small models."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.assignments.variants.random_weights import randomise

SIZES = {
    "vocab_size": 23,
    "d_model": 18,
    "num_heads": 3,
    "num_layers": 2,
    "d_ff": 28,
    "max_len": 13,
    "dropout": 0.3,
    "padding_idx": 1,
}


def close(actual, expected, limit: float = 1e-12) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=limit)


def masks(B: int, T: int) -> list[torch.Tensor | None]:
    own = torch.rand(B, T, T) < 0.5
    own[..., 0] = False
    return [None, torch.ones(1, T, T).triu(1).bool(), own, own[:, :1]]


def language_model(modules, **changes):
    return randomise(modules.language_model.DecoderTransformer(**{**SIZES, **changes}))


def torch_layer(block) -> nn.TransformerEncoderLayer:
    """torch's own pre-norm layer with the weights of ours."""
    layer = nn.TransformerEncoderLayer(18, 3, 28, 0.0, F.gelu, batch_first=True, norm_first=True)
    network, attention = block.feed_forward, block.attention
    ours = {"linear1": network.fc1, "linear2": network.fc2, "norm1": block.norm1, "norm2": block.norm2}
    ours["self_attn.out_proj"] = attention.W_o
    state = {f"{name}.{kind}": getattr(part, kind) for name, part in ours.items() for kind in ("weight", "bias")}
    state |= {"self_attn.in_proj_weight": attention.W_qkv.weight, "self_attn.in_proj_bias": attention.W_qkv.bias}
    layer.load_state_dict(state)
    return layer
