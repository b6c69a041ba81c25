"""Known mistakes in stage 6: low-bit weights."""

from typing import Any

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
TOP = "top = 2 ** (bits - 1) - 1"
GROUPS = "groups = W.unflatten(1, (-1, group))"
SCALES = "scales = groups.abs().amax(dim=-1) / top"
ZEROS = "scales = torch.where(scales == 0, 1.0, scales)"
ROUNDED = "numbers = torch.round(groups / scales.unsqueeze(-1)).flatten(1)"
RETURNED = "return numbers.to(torch.int8), scales"
PARTS = "groups = numbers.to(scales.dtype).unflatten(1, (scales.size(1), -1))"
WEIGHTS = "return (groups * scales.unsqueeze(-1)).flatten(1)"
SHIFTED = "shifted = (numbers + 8).to(torch.uint8)"
BYTES = "return shifted[:, 0::2] + 16 * shifted[:, 1::2]"
NIBBLES = "low, high = packed % 16, packed // 16"
NUMBERS = "return torch.stack([low, high], dim=-1).flatten(1).to(torch.int8) - 8"
APPLIED = "return x @ dequantise(unpack(self.packed), self.scales).T"

RANGE = "The docstring says which whole numbers are possible. What is the largest one for four bits?"
SCALE = "The docstring defines the scale of a group. Compute it by hand for a group of three weights."
NEAREST = "The docstring says how a weight is rounded. What happens to a number just below a whole number?"
NEIGHBOURS = "A group consists of neighbouring weights in a row."
BYTE = "The docstring gives the formula for a byte. Compute it by hand for -8 and 7."
INVERSE = "Unpacking must undo packing: first one number, then its neighbour."
ORDER = "The weights have one row for each output feature."


def _quantise(name: str, old: str, new: str, looks_like: str, read_again: str, **options: Any) -> Mistake:
    return Mistake(f"quantise.{name}", "quantise", old, new, looks_like, read_again, **options)


MISTAKES: tuple[Mistake, ...] = (
    _quantise("top-one-too-large", TOP, "top = 2 ** (bits - 1)", "Your largest number is one too large.", RANGE),
    _quantise("top-without-sign", TOP, "top = 2**bits - 1", "Your numbers have no bit for the sign.", RANGE),
    _quantise("top-of-bits", TOP, "top = bits - 1", "Your largest number is the number of bits minus one.", RANGE),
    _quantise("bits-ignored", TOP, "top = 7", "You always round to four bits.", "The number of bits is an argument."),
    _quantise(
        "scale-without-sign",
        SCALES,
        "scales = groups.amax(dim=-1) / top",
        "Your scale is based on the largest weight. A negative weight may be larger in absolute value.",
        SCALE,
    ),
    _quantise(
        "scale-of-range",
        SCALES,
        "scales = (groups.amax(dim=-1) - groups.amin(dim=-1)) / (2 * top)",
        "Your scale is based on the range from the smallest to the largest weight.",
        "Rounding is symmetric here: 0 stays 0, and the range is as wide below 0 as above it.",
    ),
    _quantise(
        "scale-of-mean", SCALES, "scales = groups.abs().mean(dim=-1) / top", "Your scale is based on the mean.", SCALE
    ),
    _quantise(
        "scale-not-divided",
        SCALES,
        "scales = groups.abs().amax(dim=-1)",
        "Your scale is not divided by anything.",
        SCALE,
    ),
    _quantise(
        "scale-of-matrix",
        SCALES,
        "scales = (W.abs().amax() / top).expand(groups.shape[:-1])",
        "All groups have the scale of the whole matrix.",
        "Each group has its own scale, so that large weights elsewhere do not matter.",
    ),
    _quantise(
        "scale-of-row",
        SCALES,
        "scales = (W.abs().amax(dim=1, keepdim=True) / top).expand(groups.shape[:-1])",
        "All groups of a row have the same scale.",
        "Each group has its own scale, so that large weights elsewhere in the row do not matter.",
    ),
    _quantise(
        "group-count-as-size",
        GROUPS,
        "groups = W.unflatten(1, (group, -1))",
        "You use the group size as the number of groups.",
        NEIGHBOURS,
    ),
    _quantise(
        "groups-of-distant-weights",
        GROUPS,
        "groups = W.unflatten(1, (group, -1)).transpose(1, 2)",
        "The weights in each of your groups are not adjacent.",
        NEIGHBOURS,
    ),
    _quantise("round-down", ROUNDED, ROUNDED.replace("torch.round", "torch.floor"), "You round down.", NEAREST),
    _quantise(
        "round-toward-zero",
        ROUNDED,
        ROUNDED.replace("torch.round", "torch.trunc"),
        "You cut off the decimal places.",
        NEAREST,
    ),
    _quantise(
        "round-half-up",
        ROUNDED,
        "numbers = torch.floor(groups / scales.unsqueeze(-1) + 0.5).flatten(1)",
        "You round up numbers that are halfway between two whole numbers.",
        "The docstring names the function that rounds. It rounds halfway numbers to the even neighbour.",
    ),
    _quantise(
        "rounded-before-scaling",
        ROUNDED,
        "numbers = (torch.round(groups) / scales.unsqueeze(-1)).flatten(1)",
        "You round the weights before you divide them.",
        "The docstring gives the order: divide, then round.",
    ),
    _quantise(
        "multiplied-by-scale",
        ROUNDED,
        ROUNDED.replace("groups / scales", "groups * scales"),
        "You multiply weights by their scale.",
        "To turn numbers back into weights, you multiply. What must you do in this direction?",
    ),
    _quantise(
        "zeros-nan",
        ZEROS,
        "pass",
        "A group of zeros has a scale of 0, or nearly 0.",
        "The docstring gives the scale of a group in which everything is 0.",
    ),
    _quantise(
        "zeros-tiny-scale",
        ZEROS,
        "scales = scales.clamp(min=1e-8)",
        "A group of zeros has a tiny scale.",
        "The docstring gives the scale of a group in which everything is 0.",
        same_as=("quantise.zeros-nan",),
    ),
    _quantise(
        "numbers-stay-wide",
        RETURNED,
        "return numbers.to(torch.int64), scales",
        "Your numbers are right, but each takes eight bytes.",
        "The docstring gives the type of the numbers. Saving memory is the point.",
    ),
    _quantise(
        "scales-inverted",
        RETURNED,
        "return numbers.to(torch.int8), 1 / scales",
        "You return the factor that weights are multiplied by, not the number that they are divided by.",
        SCALE,
    ),
    _quantise(
        "dequantise-divided",
        WEIGHTS,
        WEIGHTS.replace("groups * scales", "groups / scales"),
        "You divide the numbers by their scale.",
        "The weights were divided by their scale before rounding. What undoes this?",
    ),
    _quantise(
        "dequantise-scales-in-turn",
        WEIGHTS,
        "return numbers * scales.repeat(1, numbers.size(1) // scales.size(1))",
        "Neighbouring weights of your matrix have different scales.",
        NEIGHBOURS,
    ),
    _quantise(
        "dequantise-first-scale",
        WEIGHTS,
        WEIGHTS.replace("scales.unsqueeze(-1)", "scales[:, :1].unsqueeze(-1)"),
        "You use the first scale of a row for the whole row.",
        "Each group of a row has its own scale.",
    ),
    _quantise(
        "dequantise-group-count-as-size",
        PARTS + "  # (out, in / group, group)\n    " + WEIGHTS,
        "groups = numbers.to(scales.dtype).unflatten(1, (-1, scales.size(1)))\n"
        "    return (groups * scales[:, : 1].unsqueeze(1)).flatten(1)",
        "You use the number of groups as the group size.",
        "How many scales does a row have, and how many weights belong to each?",
        same_as=("quantise.dequantise-first-scale",),
    ),
    _quantise(
        "pack-halves-exchanged",
        BYTES,
        "return 16 * shifted[:, 0::2] + shifted[:, 1::2]",
        "You put the first number into the high bits.",
        BYTE,
    ),
    _quantise(
        "pack-halves-of-row",
        BYTES,
        "half = numbers.size(1) // 2\n    return shifted[:, :half] + 16 * shifted[:, half:]",
        "You combine the first half of a row with its second half.",
        "Two neighbours share a byte.",
    ),
    _quantise("pack-offset-seven", SHIFTED, SHIFTED.replace("8)", "7)", 1), "You add 7 instead of 8.", BYTE),
    _quantise(
        "pack-offset-missing",
        SHIFTED,
        "shifted = (numbers % 16).to(torch.uint8)",
        "You keep the lowest four bits of a negative number instead of adding 8.",
        BYTE,
    ),
    _quantise("pack-factor-fifteen", BYTES, BYTES.replace("16", "15"), "Your second number is multiplied by 15.", BYTE),
    _quantise(
        "pack-factor-eight",
        BYTES,
        BYTES.replace("16", "8"),
        "You shift the second number by three bits, so the two numbers overlap.",
        BYTE,
    ),
    _quantise(
        "pack-not-uint8",
        BYTES,
        "return shifted[:, 0::2].int() + 16 * shifted[:, 1::2].int()",
        "Your bytes are right, but they take four bytes each.",
        "The docstring gives the type of the result.",
    ),
    _quantise(
        "unpack-exchanged", NUMBERS, NUMBERS.replace("low, high", "high, low"), "You read the high bits first.", INVERSE
    ),
    _quantise(
        "unpack-one-after-the-other",
        NUMBERS,
        "return torch.cat([low, high], dim=1).to(torch.int8) - 8",
        "All low bits come first in your rows, and then all high bits.",
        INVERSE,
    ),
    _quantise(
        "unpack-offset-missing",
        NUMBERS,
        "return torch.stack([low, high], dim=-1).flatten(1).to(torch.int8)",
        "Your numbers go from 0 to 15.",
        "Packing added 8 to each number.",
    ),
    _quantise(
        "unpack-signed-shift",
        NIBBLES,
        "low, high = packed % 16, (packed.to(torch.int8) >> 4).to(torch.uint8)",
        "Your high bits are wrong in bytes above 127: as signed numbers, these bytes are negative.",
        "Take the bytes apart while they are unsigned.",
    ),
    _quantise(
        "unpack-low-not-cut",
        NIBBLES,
        "low, high = packed, packed // 16",
        "Your first number still contains the high bits.",
        INVERSE,
    ),
    _quantise(
        "unpack-unsigned",
        NUMBERS,
        "return torch.stack([low, high], dim=-1).flatten(1) - 8",
        "You subtract 8 from unsigned numbers: 3 becomes 251.",
        "The docstring gives the type of the result. An unsigned number is never negative.",
    ),
    _quantise("linear-not-transposed", APPLIED, APPLIED.removesuffix(".T"), "You do not transpose the weights.", ORDER),
    _quantise(
        "linear-without-scales",
        APPLIED,
        "return x @ unpack(self.packed).to(x.dtype).T",
        "You multiply by the whole numbers, without their scales.",
        "The whole numbers are weights divided by a scale.",
    ),
    _quantise(
        "linear-mean-scale",
        APPLIED,
        "return x @ unpack(self.packed).to(x.dtype).T * self.scales.mean(dim=1)",
        "Each of your outputs uses a single scale.",
        "Within a row, each group has its own scale.",
    ),
)
