"""Speed up a training step without changing what is learnt; initialise the weights."""

import ctypes
import sys
from types import SimpleNamespace
from typing import Any


def keep_freed_memory() -> None:
    """Stop glibc from returning the memory of large tensors to the system at every step.

    Otherwise each step maps and clears the same pages again, which costs more than the arithmetic on a CPU. Elsewhere
    (macOS, Windows, musl) this does nothing.
    """
    try:
        libc = ctypes.CDLL("libc.so.6")
        m_trim_threshold, m_mmap_threshold = -1, -3  # malloc.h
        libc.mallopt(m_mmap_threshold, 1 << 30)
        libc.mallopt(m_trim_threshold, (1 << 31) - 1)
    except (OSError, AttributeError):
        pass


def fast_dropout(model: Any) -> None:
    """Make every Dropout layer of the model sample one random byte instead of one random float per element.

    Generating random numbers took a quarter of a training step on the CPU. The probability is rounded to a multiple of
    1/256, and the scale matches it exactly, so the expected value is unchanged.
    """
    import torch
    from torch import nn

    class ByteDropout(nn.Dropout):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            dropped = round(self.p * 256)
            if not self.training or dropped == 0:
                return input
            words = torch.empty((input.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
            keep = words.view(torch.uint8)[: input.numel()].view(input.shape) >= dropped
            return input * keep.to(input.dtype).mul_(256 / (256 - dropped))

    for module in model.modules():
        if type(module) is nn.Dropout:
            module.__class__ = ByteDropout


def fused_attention(model: Any, attention_class: type) -> None:
    """Make every attention module call torch's `scaled_dot_product_attention`, which stores no weights.

    Args:
        model: a `Transformer`.
        attention_class: the class `MultiHeadAttention` from its modules.
    """
    import torch
    import torch.nn.functional as F

    class FusedAttention(attention_class):  # type: ignore[misc]
        def compute_scaled_dot_product_attention(
            self,
            query: torch.Tensor,
            key: torch.Tensor,
            value: torch.Tensor,
            key_padding_mask: torch.Tensor | None = None,
            attention_mask: torch.Tensor | None = None,
        ) -> torch.Tensor:
            allowed = None  # (B or 1, 1, T_q or 1, T_k), true where a query may attend
            if key_padding_mask is not None:
                allowed = (key_padding_mask == 0)[:, None, None, :]
            if attention_mask is not None:
                earlier = (attention_mask == 0)[:, None]
                allowed = earlier if allowed is None else allowed & earlier
            x = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
            return x.transpose(1, 2).flatten(2)  # (B, H, T_q, d_k) -> (B, T_q, d_model)

    for module in model.modules():
        if type(module) is attention_class:
            module.__class__ = FusedAttention


def importable(modules: SimpleNamespace) -> None:
    """Make the five modules importable, since torch.compile looks up code by its module's name."""
    sys.modules.update(vars(modules))


def initialise(model: Any) -> None:
    """Initialise the weights: use Xavier initialisation for the linear maps and N(0, 1) for the embeddings.

    The embeddings are not scaled by sqrt(d_model), so smaller values would be drowned out by the positional encoding.
    """
    from torch import nn

    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight)
