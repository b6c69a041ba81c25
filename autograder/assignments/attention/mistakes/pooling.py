"""Known mistakes of stage 1: pooling, the learned width, leaving one out."""

from autograder.assignments.attention.mistakes import kernels
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
DISTANCES = "distances = torch.cdist(queries, keys)  # (n_q, n_k)"
REACHED = "reached = kernel(distances / width)"
FALLBACK = "reached = torch.where((reached == 0).all(dim=1, keepdim=True), nearest, reached)"
WEIGHTS = "weights = reached / reached.sum(dim=1, keepdim=True)"
RETURN = "return weights @ values, weights"
POOLING = f"""{REACHED}
    nearest = (distances == distances.amin(dim=1, keepdim=True)).to(reached.dtype)
    # Chosen before the division: gradients through a 0 / 0 are NaN even where its result is not taken.
    {FALLBACK}
    {WEIGHTS}
    {RETURN}"""
FORWARD = "return attention_pooling(queries, keys, values, self.kernel, self.log_width.exp())"
OTHERS = """reached = self.kernel(distances / self.log_width.exp()).masked_fill(own, 0)
        distances = distances.masked_fill(own, math.inf)"""
LEFT_OUT = f"""{OTHERS}
        nearest = (distances == distances.amin(dim=1, keepdim=True)).to(reached.dtype)
        {FALLBACK}
        {WEIGHTS}"""

WEIGHT = "The docstring says what the weight of a key is."
FORMULA = "The docstring says what the weight of a key is, and what its distance is measured in."
UNREACHED = "The docstring says what a query attends to if the kernel reaches none of its keys."
ROWS = "Each query shares a weight of 1 among all keys. Ask yourself which axis belongs to the keys."
WIDTH = "The parameter is the logarithm of the width, see the docstring of the class."
KERNEL = "The constructor is given a kernel: any function of that kind."
ALONE = "The docstring says which pairs a prediction is made from, and what the weights of a row add up to."


def _pooling(
    name: str, old: str, new: str, looks_like: str, read_again: str, hidden: bool = False, same_as: tuple[str, ...] = ()
) -> Mistake:
    """A mistake in `attention_pooling`."""
    assert old in POOLING
    return Mistake(
        f"pooling.{name}",
        "pooling",
        POOLING,
        POOLING.replace(old, new),
        looks_like,
        read_again,
        seen_by="hidden" if hidden else "visible",
        same_as=same_as,
    )


MISTAKES: tuple[Mistake, ...] = (
    *kernels.MISTAKES,
    _pooling(
        "width-missing",
        REACHED,
        "reached = kernel(distances)",
        "Your weights do not depend on the width.",
        "Distances are measured in widths: that is what makes a kernel narrow or wide. " + FORMULA,
    ),
    _pooling(
        "width-multiplied",
        REACHED,
        "reached = kernel(distances * width)",
        "Your distances are multiplied by the width instead of divided by it.",
        "A wide kernel reaches further, so it must make distances smaller. " + FORMULA,
    ),
    _pooling(
        "width-squared",
        REACHED,
        "reached = kernel(distances / width**2)",
        "Your distances are divided by the square of the width.",
        "The square in the formula of the Gaussian is taken by the kernel itself. " + FORMULA,
    ),
    _pooling(
        "distance-squared",
        REACHED,
        "reached = kernel(distances**2 / width)",
        "Your kernel gets squared distances.",
        "The square in the formula of the Gaussian is taken by the kernel itself. " + FORMULA,
    ),
    Mistake(
        id="pooling.distance-by-axes",
        module="pooling",
        old=DISTANCES,
        new="distances = torch.cdist(queries, keys, p=1)",
        looks_like="Your distances are the sums of the distances along the axes.",
        read_again="The Euclidean distance is the length of the straight line: the root of the sum of squares.",
    ),
    Mistake(
        id="pooling.queries-keys-exchanged",
        module="pooling",
        old=DISTANCES,
        new="distances = torch.cdist(keys, queries)",
        looks_like="Your weights have a row for each key instead of for each query.",
        read_again="A row belongs to a query and a column to a key; with as many queries as keys you would not notice.",
    ),
    _pooling(
        "not-normalised",
        WEIGHTS,
        "weights = reached",
        "Your weights are the values of the kernel; they do not add up to 1.",
        "Without the division an estimate grows with the number of neighbours. " + WEIGHT,
    ),
    _pooling(
        "normalised-over-queries",
        WEIGHTS,
        WEIGHTS.replace("dim=1", "dim=0"),
        "Your weights add up to 1 over the queries instead of over the keys.",
        ROWS,
    ),
    _pooling(
        "normalised-over-all",
        WEIGHTS,
        "weights = reached / reached.sum()",
        "Your weights add up to 1 over all queries together.",
        ROWS,
    ),
    _pooling(
        "softmax",
        WEIGHTS,
        "weights = torch.softmax(reached, dim=1)",
        "Your weights are the softmax of the kernel's values.",
        "A softmax takes an exponential first, so that keys out of reach get weight too. " + WEIGHT,
    ),
    _pooling(
        "unreached-nan",
        FALLBACK,
        "reached = reached + 0 * nearest",
        "A query that the kernel does not reach gives numbers that are not finite, as with 0 divided by 0.",
        UNREACHED,
    ),
    _pooling(
        "unreached-zero",
        f"{FALLBACK}\n    {WEIGHTS}",
        "total = reached.sum(dim=1, keepdim=True)\n"
        "    weights = reached / torch.where(total == 0, torch.ones_like(total), total)",
        "A query that the kernel does not reach gets the weight 0 for all keys.",
        UNREACHED,
    ),
    _pooling(
        "unreached-mean",
        FALLBACK,
        FALLBACK.replace("nearest", "torch.ones_like(reached)"),
        "A query that the kernel does not reach attends to all keys alike.",
        UNREACHED,
    ),
    _pooling(
        "unreached-one-of-the-nearest",
        FALLBACK,
        "nearest = nn.functional.one_hot(distances.argmin(dim=1), len(keys)).to(reached.dtype)\n    " + FALLBACK,
        "A query that the kernel does not reach attends to one of its nearest keys only, although others are as near.",
        UNREACHED,
    ),
    _pooling(
        "unreached-all",
        FALLBACK,
        "reached = torch.where((reached == 0).all(dim=1).any(), nearest, reached)",
        "Queries that reach keys attend to their nearest ones only, as if one query that reaches none decided for all, "
        "or one key that is out of reach.",
        "The choice is made for each query, by its own row of kernel values. " + UNREACHED,
    ),
    _pooling(
        "unreached-any",
        FALLBACK,
        FALLBACK.replace(".all(", ".any("),
        "A query that the kernel does not let reach all keys attends to its nearest key only.",
        "One key within reach is enough. " + UNREACHED,
        same_as=("pooling.unreached-all",),
    ),
    _pooling(
        "unreached-tiny",
        FALLBACK,
        FALLBACK.replace("(reached == 0).all(dim=1, keepdim=True)", "reached.sum(dim=1, keepdim=True) < 1e-6"),
        "A query whose kernel values are tiny, but not 0, attends to its nearest key as if it reached none.",
        "However far the keys are, they are reached as long as one value of the kernel is above 0. " + UNREACHED,
    ),
    _pooling(
        "values-missing",
        RETURN,
        "return weights, weights",
        "Your estimates are the weights themselves: the values are missing.",
        "Attention is a mean of the values. See under Returns for the shapes of the two results.",
    ),
    _pooling(
        "results-exchanged",
        RETURN,
        "return weights, weights @ values",
        "Your second result holds the estimates, as with the two results exchanged.",
        "See under Returns in the docstring for their order.",
    ),
    _pooling(
        "weights-not-returned",
        RETURN,
        "return weights @ values",
        "Only the estimates are returned.",
        "See under Returns in the docstring: the weights are wanted too, for the heatmaps.",
    ),
    # Its effect is as small as the number that is added, but for queries that are far from all keys.
    _pooling(
        "small-number-added",
        f"{FALLBACK}\n    {WEIGHTS}",
        f"{FALLBACK}\n    weights = reached / (reached.sum(dim=1, keepdim=True) + 1e-8)",
        "Where the kernel is tiny for all keys, your weights do not add up to 1, as with a number added to the sum.",
        "A tiny sum is still a sum to divide by; only a sum of 0 is another case. " + WEIGHT,
    ),
    # The visible tests only warn of it.
    _pooling(
        "width-without-gradient",
        REACHED,
        "reached = kernel(distances / float(width))",
        "Your result is right, but no gradient reaches the width, so it would never be learned.",
        "A Python number knows nothing of autograd. See what the docstring says about a width that is a tensor.",
        hidden=True,
    ),
    _pooling(
        "gradient-not-finite",
        f"{FALLBACK}\n    {WEIGHTS}",
        f"{WEIGHTS}\n    weights = torch.where(weights.isnan(), nearest / nearest.sum(dim=1, keepdim=True), weights)",
        "Your result is right, but the gradient of the width is not a finite number where a query reaches no key.",
        "Replacing the result of 0 divided by 0 comes too late: its gradient is not a number even where the result is "
        "not taken. Repair what is divided, before the division.",
        hidden=True,
    ),
    Mistake(
        id="pooling.regression-logarithm",
        module="pooling",
        old=FORWARD,
        new=FORWARD.replace(".exp()", ""),
        looks_like="Your regression takes the logarithm of the width for the width.",
        read_again=WIDTH,
    ),
    Mistake(
        id="pooling.regression-width-1",
        module="pooling",
        old=FORWARD,
        new=FORWARD.replace(", self.log_width.exp()", ""),
        looks_like="Your regression always has the width 1.",
        read_again="A width that has no effect cannot be learned. " + WIDTH,
    ),
    Mistake(
        id="pooling.regression-gaussian",
        module="pooling",
        old=FORWARD,
        new=FORWARD.replace("self.kernel", "gaussian"),
        looks_like="Your regression always pools with the Gaussian kernel.",
        read_again=KERNEL,
    ),
    Mistake(
        id="pooling.regression-without-gradient",
        module="pooling",
        old=FORWARD,
        new=FORWARD.replace(".exp()", ".exp().item()"),
        looks_like="Your result is right, but no gradient reaches the width, so it would never be learned.",
        read_again="A Python number knows nothing of autograd: hand the tensor on as it is.",
        seen_by="hidden",
    ),
    Mistake(
        id="pooling.own-pair-kept",
        module="pooling",
        old=LEFT_OUT,
        new="_, weights = self(keys, keys, values)",
        looks_like="Your predictions use the value that they predict: each pair looks at itself too.",
        read_again="Such an error says nothing about values that are not known. " + ALONE,
    ),
    Mistake(
        id="pooling.own-weight-dropped",
        module="pooling",
        old=LEFT_OUT,
        new="_, weights = self(keys, keys, values)\n        weights = weights.masked_fill(own, 0)",
        looks_like="Your weights do not add up to 1: the own one is 0, but counts in the sum that they are divided by.",
        read_again=ALONE,
    ),
    Mistake(
        id="pooling.own-weight-shared-out",
        module="pooling",
        old=LEFT_OUT,
        new="_, weights = self(keys, keys, values)\n        weights = weights.masked_fill(own, 0)\n"
        "        weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-12)",
        looks_like="A pair that reaches no other one gets the weights 0, as with its own weight dropped too late.",
        read_again="If the own key still counts when it is decided whether one is reached, nothing is left without it. "
        + ALONE,
    ),
    Mistake(
        id="pooling.own-pair-far-away",
        module="pooling",
        old=OTHERS,
        new="distances = distances.masked_fill(own, math.inf)\n"
        "        reached = self.kernel(distances / self.log_width.exp())",
        looks_like="The own pair gets weight from a kernel that reaches infinitely far.",
        read_again="An infinite distance keeps the own pair out for some kernels only. " + ALONE,
    ),
    Mistake(
        id="pooling.nearest-is-itself",
        module="pooling",
        old=LEFT_OUT,
        new=LEFT_OUT.replace("\n        distances = distances.masked_fill(own, math.inf)", ""),
        looks_like="A pair that reaches no other one attends to itself.",
        read_again="The nearest key of all is the own one, which must not count. " + ALONE,
    ),
    Mistake(
        id="pooling.left-out-unreached-nan",
        module="pooling",
        old=LEFT_OUT,
        new=LEFT_OUT.replace(FALLBACK, "reached = reached + 0 * nearest"),
        looks_like="A pair that reaches no other one gives numbers that are not finite, as with 0 divided by 0.",
        read_again="The docstring says what such a pair is predicted from.",
    ),
    Mistake(
        id="pooling.left-out-logarithm",
        module="pooling",
        old=OTHERS,
        new=OTHERS.replace(".exp()", ""),
        looks_like="Your predictions take the logarithm of the width for the width.",
        read_again=WIDTH,
    ),
    Mistake(
        id="pooling.left-out-width-1",
        module="pooling",
        old=OTHERS,
        new=OTHERS.replace(" / self.log_width.exp()", ""),
        looks_like="Your predictions from the others always have the width 1.",
        read_again="A width that has no effect cannot be learned. " + WIDTH,
    ),
    Mistake(
        id="pooling.left-out-gaussian",
        module="pooling",
        old=OTHERS,
        new=OTHERS.replace("self.kernel(", "gaussian("),
        looks_like="Your predictions from the others always use the Gaussian kernel.",
        read_again=KERNEL,
    ),
    Mistake(
        id="pooling.left-out-without-gradient",
        module="pooling",
        old=OTHERS,
        new=OTHERS.replace(".exp()", ".exp().item()"),
        looks_like="Your predictions are right, but no gradient reaches the width, so it would never be learned.",
        read_again="A Python number knows nothing of autograd: divide by the tensor as it is.",
        seen_by="hidden",
    ),
)
