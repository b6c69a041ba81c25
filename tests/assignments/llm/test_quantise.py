"""Low-bit weights: torch's own rounding as an oracle, and the error that rounding may cause."""

import pytest
import torch

from course.location import course_folder
from course.modules import load_modules

quantise = load_modules(course_folder() / "solutions" / "llm", ("quantise",)).quantise


def test_eight_bits_per_row_are_those_of_torch():
    W = torch.randn(6, 40, generator=torch.Generator().manual_seed(0))
    numbers, scales = quantise.quantise(W, 8, 40)
    right = torch.fake_quantize_per_channel_affine(W, scales[:, 0], torch.zeros(6, dtype=torch.int32), 0, -127, 127)
    torch.testing.assert_close(quantise.dequantise(numbers, scales), right)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_no_weight_is_off_by_more_than_half_a_scale(bits):
    W = torch.randn(6, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    numbers, scales = quantise.quantise(W, bits, 8)
    off = (quantise.dequantise(numbers, scales) - W).abs().unflatten(1, (-1, 8)).amax(dim=2)
    assert (off <= scales / 2 + 1e-12).all()
    assert numbers.abs().max() == 2 ** (bits - 1) - 1


def test_a_packed_map_is_the_rounded_map_in_an_eighth_of_the_memory():
    W, x = torch.randn(6, 40), torch.randn(3, 40)
    linear = quantise.PackedLinear(40, 6, 8)
    linear.store(W)
    torch.testing.assert_close(linear(x), x @ quantise.dequantise(*quantise.quantise(W, 4, 8)).T)
    assert linear.packed.numel() * linear.packed.element_size() == W.numel() * W.element_size() / 8
