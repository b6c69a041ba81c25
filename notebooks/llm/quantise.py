"""Stage 6, low-bit weights: symmetric rounding in groups, and two four-bit numbers in one byte."""

import torch
from torch import nn


def quantise(W: torch.Tensor, bits: int, group: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Round a matrix to whole numbers, with a scale for each group of neighbouring weights in a row.

    With top = 2^(bits - 1) - 1, the scale of a group is its largest absolute value divided by top, or 1 if all its
    weights are 0. Each weight is divided by its scale and rounded to the nearest whole number, as `torch.round` does.
    So the numbers range from -top to top.

    Args:
        W: (out, in), where `in` is a multiple of `group`.
        bits: 2 to 8.
        group: the number of neighbouring weights in a row that share a scale.

    Returns:
        numbers: (out, in), of type int8.
        scales: (out, in / group), with the dtype of W.
    """
    raise NotImplementedError("Stage 6: quantise is not written yet")


def dequantise(numbers: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Turn the results of `quantise` back into weights.

    Args:
        numbers: (out, in), int8.
        scales: (out, in / group).

    Returns:
        (out, in), with the dtype of the scales: each number times the scale of its group.
    """
    raise NotImplementedError("Stage 6: dequantise is not written yet")


def pack(numbers: torch.Tensor) -> torch.Tensor:
    """Put two whole numbers from -8 to 7 into one byte.

    Add 8 to each number, so it ranges from 0 to 15. Of two neighbours in a row, the first becomes the low four bits
    of the byte, the second the high four bits: byte = first + 16 * second.

    Args:
        numbers: (out, in), int8, with an even `in`.

    Returns:
        (out, in / 2), of type uint8.
    """
    raise NotImplementedError("Stage 6: pack is not written yet")


def unpack(packed: torch.Tensor) -> torch.Tensor:
    """Undo `pack`.

    Args:
        packed: (out, in / 2), uint8.

    Returns:
        (out, in), int8, from -8 to 7.
    """
    raise NotImplementedError("Stage 6: unpack is not written yet")


class PackedLinear(nn.Module):
    """A linear map without bias whose weights are stored in four bits each.

    `packed`, (out, in / 2), and `scales`, (out, in / group), are buffers; the map has no parameters.
    """

    packed: torch.Tensor
    scales: torch.Tensor

    def __init__(self, in_features: int, out_features: int, group: int) -> None:
        super().__init__()
        self.group = group
        self.register_buffer("packed", torch.zeros(out_features, in_features // 2, dtype=torch.uint8))
        self.register_buffer("scales", torch.ones(out_features, in_features // group))

    @torch.no_grad()
    def store(self, weight: torch.Tensor) -> None:
        """Given: store the weights of a linear map, (out, in), in four bits each."""
        numbers, scales = quantise(weight, 4, self.group)
        self.packed.copy_(pack(numbers))
        self.scales.copy_(scales)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the map: unpack the weights, multiply x by them, and discard them.

        Args:
            x: (..., in).

        Returns:
            (..., out).
        """
        raise NotImplementedError("Stage 6: PackedLinear.forward is not written yet")
