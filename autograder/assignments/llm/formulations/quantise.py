"""Formulations of quantisation: other correct ways to write it."""

from autograder.authoring.formulations import Formulation


def _quantise(name: str, function: str, text: str) -> Formulation:
    return Formulation(f"quantise-{name}", "quantise", {function: (text,)})


QUANTISE = [
    _quantise(
        "by-view-and-inverse",
        "quantise",
        """
        out, size = W.shape
        blocks = W.reshape(out, size // group, group)
        limit = (1 << (bits - 1)) - 1
        largest = blocks.abs().max(dim=2, keepdim=True).values
        inverse = torch.where(largest > 0, limit / largest, torch.ones_like(largest))
        whole = (blocks * inverse).round().clamp(-limit, limit)
        return whole.view(out, size).type(torch.int8), (1 / inverse).squeeze(-1)
        """,
    ),
    _quantise(
        "group-by-group",
        "quantise",
        """
        top = 2 ** (bits - 1) - 1
        numbers, scales = torch.zeros_like(W, dtype=torch.int8), W.new_ones(W.size(0), W.size(1) // group)
        for j in range(scales.size(1)):
            part = W[:, j * group : (j + 1) * group]
            largest = torch.maximum(part.amax(1), -part.amin(1))
            scales[:, j][largest != 0] = largest[largest != 0] / top
            numbers[:, j * group : (j + 1) * group] = torch.round(part / scales[:, j : j + 1])
        return numbers, scales
        """,
    ),
    _quantise(
        "wide-scales",
        "quantise",
        """
        top = 2 ** (bits - 1) - 1
        scales = torch.stack([part.abs().amax(1) for part in W.split(group, dim=1)], dim=1) / top
        scales[scales == 0] = 1
        return torch.round(W / scales.repeat_interleave(group, dim=1)).char(), scales
        """,
    ),
    _quantise(
        "dequantise-repeated",
        "dequantise",
        """
        group = numbers.shape[1] // scales.shape[1]
        return numbers * torch.repeat_interleave(scales, group, dim=1)
        """,
    ),
    _quantise(
        "dequantise-by-group-index",
        "dequantise",
        """
        group = numbers.size(1) // scales.size(1)
        return numbers.to(scales.dtype) * scales[:, torch.arange(numbers.size(1)) // group]
        """,
    ),
    _quantise(
        "pack-by-shift",
        "pack",
        """
        low, high = (numbers + 8).to(torch.uint8).unflatten(1, (-1, 2)).unbind(-1)
        return low | (high << 4)
        """,
    ),
    _quantise(
        "pack-wide",
        "pack",
        """
        wide = numbers.long()
        return (wide[:, ::2] + 8 + 16 * (wide[:, 1::2] + 8)).to(torch.uint8)
        """,
    ),
    _quantise(
        "pack-wrapping",
        "pack",
        """
        shifted = numbers + 8
        return (shifted[:, ::2] + 16 * shifted[:, 1::2]).view(torch.uint8)
        """,
    ),
    _quantise(
        "unpack-into-place",
        "unpack",
        """
        out = torch.empty(packed.size(0), 2 * packed.size(1), dtype=torch.int8)
        out[:, 0::2] = (packed & 0x0F).to(torch.int8) - 8
        out[:, 1::2] = (packed >> 4).to(torch.int8) - 8
        return out
        """,
    ),
    _quantise(
        "unpack-by-division",
        "unpack",
        """
        wide = packed.int()
        high = torch.div(wide, 16, rounding_mode="floor")
        return (torch.cat([(wide - 16 * high)[..., None], high[..., None]], -1).reshape(len(packed), -1) - 8).char()
        """,
    ),
    _quantise(
        "linear-transposed",
        "PackedLinear.forward",
        """
        W = dequantise(unpack(self.packed), self.scales)
        return torch.nn.functional.linear(x, W)
        """,
    ),
    _quantise(
        "linear-einsum",
        "PackedLinear.forward",
        'return torch.einsum("...i,oi->...o", x, dequantise(unpack(self.packed), self.scales))',
    ),
    _quantise(
        "linear-scales-after-the-product",
        "PackedLinear.forward",
        """
        numbers = unpack(self.packed).to(x.dtype).unflatten(1, (-1, self.group))
        products = torch.einsum("...gi,ogi->...og", x.unflatten(-1, (-1, self.group)), numbers)
        return (products * self.scales).sum(dim=-1)
        """,
    ),
]
