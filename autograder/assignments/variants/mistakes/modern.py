"""Known mistakes in stage 8: parts of today's models."""

from autograder.assignments.variants.mistakes import grouped_queries
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
WIDE = "wide = x.to(torch.promote_types(x.dtype, torch.float32))"
ROOT = "root = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + self.eps)"
NORM = "return self.weight * (wide * root).to(x.dtype)"
ODD = "if d_head % 2:"
WIDE_ANGLES = "wide = torch.promote_types(x.dtype, torch.float32)"
EXPONENTS = "exponents = torch.arange(0, d_head, 2, device=x.device, dtype=wide) / d_head"
ANGLES = "angles = positions[:, None].to(wide) * 10000.0**-exponents"
PAIRS = "even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, d_head / 2)"
TURNED = "turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)"
FLAT = "return turned.flatten(-2)"
GATE = "return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))"

FORMULA = "Compare your code with the formula in the docstring, factor by factor."
TURNING = "The docstring gives the formulas for both coordinates of a rotated point, and for the angle of a pair."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "modern.norm-with-mean",
        "modern",
        WIDE,
        "x = x - x.mean(dim=-1, keepdim=True)\n        " + WIDE,
        "Your norm subtracts the mean, like a layer norm.",
        "This norm deliberately does not subtract the mean. " + FORMULA,
    ),
    Mistake(
        "modern.norm-eps-outside",
        "modern",
        ROOT,
        "root = 1 / (wide.pow(2).mean(dim=-1, keepdim=True).sqrt() + self.eps)",
        "Your norm adds eps outside the square root instead of inside.",
        FORMULA,
    ),
    Mistake(
        "modern.norm-eps-missing",
        "modern",
        ROOT,
        "root = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True))",
        "Your norm has no eps.",
        FORMULA,
    ),
    Mistake(
        "modern.norm-weight-missing",
        "modern",
        NORM,
        NORM.replace("self.weight * ", ""),
        "Your norm does not use its weight.",
        FORMULA,
    ),
    Mistake(
        "modern.norm-sum-of-squares",
        "modern",
        ROOT,
        ROOT.replace(".mean(", ".sum("),
        "Your norm divides by the length of the vector instead of its root mean square.",
        FORMULA,
    ),
    Mistake(
        "modern.norm-root-missing",
        "modern",
        ROOT,
        "root = 1 / (wide.pow(2).mean(dim=-1, keepdim=True) + self.eps)",
        "Your norm divides by the mean square instead of its square root.",
        FORMULA,
    ),
    Mistake(
        "modern.norm-over-positions",
        "modern",
        ROOT,
        ROOT.replace("dim=-1", "dim=-2"),
        "Your norm takes the mean over the positions instead of the features.",
        "Every position is normalised separately.",
    ),
    Mistake(
        "modern.norm-in-half-precision",
        "modern",
        WIDE,
        "wide = x",
        "Your norm computes the mean of the squares in half precision.",
        "The square of 300 is too large for float16. Convert x to float32 before you square it.",
    ),
    Mistake(
        "modern.rotate-halves",
        "modern",
        f"{PAIRS}\n    {TURNED}  # (..., T, d_head / 2, 2)\n    {FLAT}",
        "even, odd = x.chunk(2, dim=-1)\n"
        "    return torch.cat([even * cos - odd * sin, even * sin + odd * cos], dim=-1)",
        "You pair features of the first half with features of the second half.",
        "Llama's code does this, with the weights permuted to match. " + TURNING,
    ),
    Mistake(
        "modern.rotate-backwards",
        "modern",
        TURNED,
        "turned = torch.stack([even * cos + odd * sin, odd * cos - even * sin], dim=-1)",
        "You rotate the points in the wrong direction.",
        TURNING,
    ),
    Mistake(
        "modern.rotate-not-interleaved",
        "modern",
        f"{TURNED}  # (..., T, d_head / 2, 2)\n    {FLAT}",
        "return torch.cat([even * cos - odd * sin, even * sin + odd * cos], dim=-1)",
        "You put all rotated first coordinates before all second coordinates.",
        "Features 2i and 2i + 1 are also a pair in the result.",
    ),
    Mistake(
        "modern.rotate-stretched",
        "modern",
        TURNED,
        "turned = torch.stack([even * cos - odd * sin, even * cos + odd * sin], dim=-1)",
        "Your rotation changes the length of the points: the second coordinate is wrong.",
        TURNING,
    ),
    Mistake(
        "modern.rotate-exponent-doubled",
        "modern",
        EXPONENTS,
        EXPONENTS.replace("/ d_head", "* 2 / d_head"),
        "Your angles decrease too quickly from pair to pair.",
        "The exponent goes from 0 to nearly -1. " + TURNING,
    ),
    Mistake(
        "modern.rotate-exponent-halved",
        "modern",
        EXPONENTS,
        "exponents = torch.arange(d_head // 2, device=x.device, dtype=wide) / d_head",
        "Your angles decrease too slowly from pair to pair.",
        "The exponent goes from 0 to nearly -1. " + TURNING,
    ),
    Mistake(
        "modern.rotate-one-angle",
        "modern",
        ANGLES,
        "angles = positions[:, None].to(wide) * torch.ones_like(exponents)",
        "You rotate all pairs by the same angle.",
        TURNING,
    ),
    Mistake(
        "modern.rotate-positions-ignored",
        "modern",
        ANGLES,
        "angles = torch.arange(x.size(-2), device=x.device)[:, None].to(wide) * 10000.0**-exponents",
        "You count the positions from 0 instead of using those that are passed in.",
        "With a cache, a single new token may be at position 500.",
    ),
    Mistake(
        "modern.rotate-positions-from-one",
        "modern",
        ANGLES,
        ANGLES.replace("positions[:, None]", "(positions[:, None] + 1)"),
        "You rotate every point by one position too many.",
        "At position 0 nothing is rotated.",
    ),
    Mistake(
        "modern.rotate-in-half-precision",
        "modern",
        WIDE_ANGLES,
        "wide = x.dtype",
        "You compute the angles in half precision.",
        "The dtype bfloat16 has 8 significant bits: position 299 becomes 300. Compute the angles in float32.",
    ),
    Mistake(
        "modern.rotate-odd-accepted",
        "modern",
        ODD,
        "if False:",
        "You do not reject an odd number of features.",
        "See the Raises section of the docstring.",
    ),
    Mistake(
        "modern.gate-on-the-other",
        "modern",
        GATE,
        "return self.W_down(self.W_gate(x) * F.silu(self.W_up(x)))",
        "Your network applies SiLU to the wrong one of the two maps.",
        FORMULA,
    ),
    Mistake(
        "modern.gate-sigmoid",
        "modern",
        GATE,
        GATE.replace("F.silu", "torch.sigmoid"),
        "Your gate uses a sigmoid.",
        "This is the gated linear unit of 2016. " + FORMULA,
    ),
    Mistake(
        "modern.gate-gelu",
        "modern",
        GATE,
        GATE.replace("F.silu", "F.gelu"),
        "Your gate uses GELU.",
        "This is the variant called GEGLU. " + FORMULA,
    ),
    Mistake(
        "modern.gate-added",
        "modern",
        GATE,
        GATE.replace(") * self.W_up", ") + self.W_up"),
        "Your network adds the two maps.",
        "A gate lets a feature through or blocks it, so it multiplies.",
    ),
    Mistake(
        "modern.gate-missing",
        "modern",
        GATE,
        "return self.W_down(F.silu(self.W_up(x)))",
        "Your network has no gate.",
        FORMULA,
    ),
    Mistake(
        "modern.gate-behind-product",
        "modern",
        GATE,
        "return self.W_down(F.silu(self.W_gate(x) * self.W_up(x)))",
        "Your network applies SiLU to the product.",
        FORMULA,
    ),
    *grouped_queries.MISTAKES,
)
