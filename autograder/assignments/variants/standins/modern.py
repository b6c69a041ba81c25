"""Stand-in for modern.py: the rotation that its attention uses, computed with complex numbers."""

import torch


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Rotate x (..., T, d_head): each pair of features is a point in the complex plane, rotated about the origin."""
    size = x.size(-1)
    if size % 2:
        raise ValueError(f"the number of features must be even, not {size}")
    slowest = -4 * (size - 2) / size  # the exponent of 10 for the last pair
    precise = torch.promote_types(torch.float32, x.dtype)  # torch has no complex numbers in bfloat16
    speeds = torch.logspace(0, slowest, size // 2, dtype=precise, device=x.device)
    angles = torch.outer(positions.to(precise), speeds)  # (T, d_head / 2)
    points = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous().to(precise))
    return torch.view_as_real(points * torch.polar(torch.ones_like(angles), angles)).flatten(-2).to(x.dtype)
