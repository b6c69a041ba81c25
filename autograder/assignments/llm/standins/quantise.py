"""Stand-in for quantise.py: bits are extracted by shifting, and scales are repeated."""

import torch


def dequantise(numbers: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Compute weights from whole numbers (out, in) and scales (out, in / group)."""
    wide = scales.repeat_interleave(numbers.size(-1) // scales.size(-1), dim=-1)
    return wide.mul(numbers)


def unpack(packed: torch.Tensor) -> torch.Tensor:
    """(out, in / 2) -> (out, in), numbers from -8 to 7."""
    both = packed.unsqueeze(-1) >> torch.tensor([0, 4], dtype=torch.uint8)
    return (both & 15).reshape(packed.size(0), -1).to(torch.int16).sub(8).to(torch.int8)
