"""Stand-in for modern.py: the rotation that its attention uses, by complex numbers."""

import torch


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """x (..., T, d_head): pairs of features as points of the complex plane, turned about 0."""
    size = x.size(-1)
    if size % 2:
        raise ValueError(f"{size} is no even number of features")
    slowest = -4 * (size - 2) / size  # the power of 10 of the last pair
    precise = torch.promote_types(torch.float32, x.dtype)  # torch has no complex numbers in bfloat16
    speeds = torch.logspace(0, slowest, size // 2, dtype=precise, device=x.device)
    angles = torch.outer(positions.to(precise), speeds)  # (T, d_head / 2)
    points = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous().to(precise))
    return torch.view_as_real(points * torch.polar(torch.ones_like(angles), angles)).flatten(-2).to(x.dtype)
