"""Known mistakes of stage 8: parts of today's models."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
NORM = "return self.weight * x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)"
ODD = "if d_head % 2:"
EXPONENTS = "exponents = torch.arange(0, d_head, 2, device=x.device, dtype=x.dtype) / d_head"
ANGLES = "angles = positions[:, None].to(x.dtype) * 10000.0**-exponents"
PAIRS = "even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, d_head / 2)"
TURNED = "turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)"
FLAT = "return turned.flatten(-2)"
GATE = "return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))"
POSITIONS = "positions = torch.arange(T_past, T_past + T_new, device=x.device)"
QUERIES = "q = rotate(split_heads(self.W_q(x)), positions)"
KEYS = "k = rotate(split_heads(self.W_k(x)), positions)"
VALUES = "v = split_heads(self.W_v(x))"
JOINED = "k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)"
GROUPED = "grouped = q.unflatten(1, (self.num_kv_heads, -1))"
SCORES = "scores = grouped @ k.unsqueeze(2).transpose(-2, -1) / math.sqrt(self.d_head)"
LATER = "later = torch.ones(T_new, k.size(2), dtype=torch.bool, device=x.device).triu(diagonal=T_past + 1)"
WEIGHTS = "heads = torch.softmax(scores.masked_fill(later, -math.inf), dim=-1) @ v.unsqueeze(2)"
MERGED = "merged = heads.flatten(1, 2).transpose(1, 2).flatten(2)"
RETURN = "return self.W_o(merged), (k, v)"

FORMULA = "Compare with the formula in the docstring, factor by factor."
TURNING = "The docstring has both coordinates of a turned point, and the angle of a pair."
CACHING = "The docstring says what the cache holds, and at which positions the new tokens stand."
GROUPING = "The docstring of the class says, for 4 heads in 2 groups, which queries use which keys."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "modern.norm-with-mean",
        "modern",
        NORM,
        "x = x - x.mean(dim=-1, keepdim=True)\n        " + NORM,
        "Your norm subtracts the mean, like a layer norm.",
        "What is left out is the point of this norm. " + FORMULA,
    ),
    Mistake(
        "modern.norm-eps-outside",
        "modern",
        NORM,
        "return self.weight * x / (x.pow(2).mean(dim=-1, keepdim=True).sqrt() + self.eps)",
        "Your norm adds eps to the root instead of under it.",
        FORMULA,
    ),
    Mistake(
        "modern.norm-eps-missing",
        "modern",
        NORM,
        "return self.weight * x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True))",
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
        NORM,
        NORM.replace(".mean(", ".sum("),
        "Your norm divides by the length of the vector, not by the root of the mean square.",
        FORMULA,
    ),
    Mistake(
        "modern.norm-root-missing",
        "modern",
        NORM,
        "return self.weight * x / (x.pow(2).mean(dim=-1, keepdim=True) + self.eps)",
        "Your norm divides by the mean square without its root.",
        FORMULA,
    ),
    Mistake(
        "modern.norm-over-positions",
        "modern",
        NORM,
        NORM.replace("dim=-1", "dim=-2"),
        "Your norm takes the mean over the positions.",
        "Every position is normalised by itself.",
    ),
    Mistake(
        "modern.rotate-halves",
        "modern",
        f"{PAIRS}\n    {TURNED}  # (..., T, d_head / 2, 2)\n    {FLAT}",
        "even, odd = x.chunk(2, dim=-1)\n"
        "    return torch.cat([even * cos - odd * sin, even * sin + odd * cos], dim=-1)",
        "You pair features of the first half with features of the second.",
        "Llama's code does that, with weights that were sorted for it. " + TURNING,
    ),
    Mistake(
        "modern.rotate-backwards",
        "modern",
        TURNED,
        "turned = torch.stack([even * cos + odd * sin, odd * cos - even * sin], dim=-1)",
        "You turn the points the other way round.",
        TURNING,
    ),
    Mistake(
        "modern.rotate-not-interleaved",
        "modern",
        f"{TURNED}  # (..., T, d_head / 2, 2)\n    {FLAT}",
        "return torch.cat([even * cos - odd * sin, even * sin + odd * cos], dim=-1)",
        "You put the turned first coordinates before all second ones.",
        "Features 2i and 2i + 1 are a pair in the result as well.",
    ),
    Mistake(
        "modern.rotate-stretched",
        "modern",
        TURNED,
        "turned = torch.stack([even * cos - odd * sin, even * cos + odd * sin], dim=-1)",
        "Your points do not keep their length: the second coordinate is wrong.",
        TURNING,
    ),
    Mistake(
        "modern.rotate-exponent-doubled",
        "modern",
        EXPONENTS,
        EXPONENTS.replace("/ d_head", "* 2 / d_head"),
        "Your angles fall off too quickly from pair to pair.",
        "The exponent grows from 0 to nearly -1. " + TURNING,
    ),
    Mistake(
        "modern.rotate-exponent-halved",
        "modern",
        EXPONENTS,
        "exponents = torch.arange(d_head // 2, device=x.device, dtype=x.dtype) / d_head",
        "Your angles fall off too slowly from pair to pair.",
        "The exponent grows from 0 to nearly -1. " + TURNING,
    ),
    Mistake(
        "modern.rotate-one-angle",
        "modern",
        ANGLES,
        "angles = positions[:, None].to(x.dtype) * torch.ones_like(exponents)",
        "You turn all pairs by the same angle.",
        TURNING,
    ),
    Mistake(
        "modern.rotate-positions-ignored",
        "modern",
        ANGLES,
        "angles = torch.arange(x.size(-2), device=x.device)[:, None].to(x.dtype) * 10000.0**-exponents",
        "You count the positions from 0 instead of taking those that are given.",
        "With a cache a single new token may stand at position 500.",
    ),
    Mistake(
        "modern.rotate-positions-from-one",
        "modern",
        ANGLES,
        ANGLES.replace("positions[:, None]", "(positions[:, None] + 1)"),
        "You turn every point one position too far.",
        "At position 0 nothing is turned.",
    ),
    Mistake(
        "modern.rotate-odd-accepted",
        "modern",
        ODD,
        "if False:",
        "You do not refuse an odd number of features yourself.",
        "See under Raises in the docstring.",
    ),
    Mistake(
        "modern.gate-on-the-other",
        "modern",
        GATE,
        "return self.W_down(self.W_gate(x) * F.silu(self.W_up(x)))",
        "Your network applies silu to the other of the two maps.",
        FORMULA,
    ),
    Mistake(
        "modern.gate-sigmoid",
        "modern",
        GATE,
        GATE.replace("F.silu", "torch.sigmoid"),
        "Your gate is a sigmoid.",
        "That is the gated linear unit of 2016. " + FORMULA,
    ),
    Mistake(
        "modern.gate-gelu",
        "modern",
        GATE,
        GATE.replace("F.silu", "F.gelu"),
        "Your gate is a GELU.",
        "That is the variant called GEGLU. " + FORMULA,
    ),
    Mistake(
        "modern.gate-added",
        "modern",
        GATE,
        GATE.replace(") * self.W_up", ") + self.W_up"),
        "Your network adds the two maps.",
        "A gate lets something through or not, so it multiplies.",
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
        "Your network applies silu to the product.",
        FORMULA,
    ),
    Mistake(
        "modern.heads-take-turns",
        "modern",
        GROUPED,
        "grouped = q.unflatten(1, (-1, self.num_kv_heads)).transpose(1, 2)",
        "Your groups are made of every G-th head.",
        GROUPING,
    ),
    Mistake(
        "modern.first-group-for-all",
        "modern",
        SCORES,
        "scores = grouped @ k[:, :1].unsqueeze(2).transpose(-2, -1) / math.sqrt(self.d_head)",
        "All of your queries use the keys of the first group.",
        GROUPING,
    ),
    Mistake(
        "modern.queries-not-turned",
        "modern",
        QUERIES,
        "q = split_heads(self.W_q(x))",
        "Your queries are not turned.",
        "Only if both are turned does their product depend on the distance alone.",
    ),
    Mistake(
        "modern.keys-not-turned",
        "modern",
        KEYS,
        "k = split_heads(self.W_k(x))",
        "Your keys are not turned.",
        "Only if both are turned does their product depend on the distance alone.",
    ),
    Mistake(
        "modern.values-turned",
        "modern",
        VALUES,
        "v = rotate(split_heads(self.W_v(x)), positions)",
        "Your values are turned too.",
        "Positions decide where a query looks, not what it finds there. See the docstring.",
    ),
    Mistake(
        "modern.positions-from-zero",
        "modern",
        POSITIONS,
        "positions = torch.arange(T_new, device=x.device)",
        "With a cache your new token is turned as if it were the first.",
        CACHING,
    ),
    Mistake(
        "modern.cache-turned-again",
        "modern",
        JOINED,
        "k = torch.cat([rotate(cache[0], torch.arange(T_past, device=x.device)), k], dim=2)\n"
        "            v = torch.cat([cache[1], v], dim=2)",
        "You turn the keys of the cache once more in each step.",
        CACHING,
    ),
    Mistake(
        "modern.new-before-old",
        "modern",
        JOINED,
        "k, v = torch.cat([k, cache[0]], dim=2), torch.cat([v, cache[1]], dim=2)",
        "You put the new keys and values before those of the cache.",
        CACHING,
    ),
    Mistake(
        "modern.cache-of-new-tokens",
        "modern",
        RETURN,
        "return self.W_o(merged), (k[:, :, -T_new:], v[:, :, -T_new:])",
        "Your new cache holds keys and values of the new positions only.",
        CACHING,
    ),
    Mistake(
        "modern.pair-exchanged",
        "modern",
        RETURN,
        "return self.W_o(merged), (v, k)",
        "Your cache is (values, keys).",
        CACHING,
    ),
    Mistake(
        "modern.not-causal",
        "modern",
        WEIGHTS,
        WEIGHTS.replace("scores.masked_fill(later, -math.inf)", "scores"),
        "In your attention every position sees the later ones.",
        "The first line of the docstring says what a position attends to.",
    ),
    Mistake(
        "modern.mask-without-past",
        "modern",
        LATER,
        LATER.replace("T_past + 1", "1"),
        "With a cache your new token sees only the beginning of the text.",
        "A row of the mask belongs to a new position, a column to any position up to now.",
    ),
    Mistake(
        "modern.scale-missing",
        "modern",
        SCORES,
        SCORES.replace(" / math.sqrt(self.d_head)", ""),
        "Your scores are not scaled.",
        "The docstring says what they are divided by.",
    ),
    Mistake(
        "modern.scale-d-model",
        "modern",
        SCORES,
        SCORES.replace("self.d_head", "x.size(-1)"),
        "Your scores are divided by the root of d_model.",
        "The docstring says what they are divided by.",
    ),
    Mistake(
        "modern.merged-without-transpose",
        "modern",
        MERGED,
        "merged = heads.flatten(1, 2).reshape(x.size(0), T_new, -1)",
        "You merge the heads without moving their axis behind that of the positions first.",
        "A view never moves a number. Undo the two steps that made the heads, in the opposite order.",
    ),
    Mistake(
        "modern.heads-not-mixed",
        "modern",
        RETURN,
        "return merged, (k, v)",
        "Your attention does not mix the heads with W_o.",
        "See under Returns in the docstring.",
    ),
)
