"""Known mistakes in stage 1: pooling, the learned width, and leave-one-out predictions."""

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
    # Chosen before the division: gradients through 0 / 0 are NaN even where its result is not used.
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

WEIGHT = "The docstring defines the weight of a key."
FORMULA = "The docstring defines the weight of a key and the unit of the distance."
UNREACHED = "The docstring says what a query attends to if the kernel reaches no key."
ROWS = "Each query distributes a total weight of 1 over all keys. Which axis is the key axis?"
WIDTH = "The parameter is the logarithm of the width: see the docstring of the class."
KERNEL = "The constructor receives a kernel, which may be any kernel function."
ALONE = "The docstring says which pairs a prediction uses, and what the weights of a row add up to."


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
        "Distances are measured in units of the width, which makes a kernel narrow or wide. " + FORMULA,
    ),
    _pooling(
        "width-multiplied",
        REACHED,
        "reached = kernel(distances * width)",
        "You multiply the distances by the width instead of dividing by it.",
        "A wide kernel reaches further, so a larger width must make the scaled distances smaller. " + FORMULA,
    ),
    _pooling(
        "width-squared",
        REACHED,
        "reached = kernel(distances / width**2)",
        "You divide the distances by the square of the width.",
        "The Gaussian kernel itself squares the distance. " + FORMULA,
    ),
    _pooling(
        "distance-squared",
        REACHED,
        "reached = kernel(distances**2 / width)",
        "You pass squared distances to the kernel.",
        "The Gaussian kernel itself squares the distance. " + FORMULA,
    ),
    Mistake(
        id="pooling.distance-by-axes",
        module="pooling",
        old=DISTANCES,
        new="distances = torch.cdist(queries, keys, p=1)",
        looks_like="Your distance is the sum of the distances along each axis.",
        read_again="The Euclidean distance is the length of a straight line: the square root of the sum of squares.",
    ),
    Mistake(
        id="pooling.queries-keys-exchanged",
        module="pooling",
        old=DISTANCES,
        new="distances = torch.cdist(keys, queries)",
        looks_like="Your weights have a row for each key instead of for each query.",
        read_again="A row belongs to a query and a column to a key; with as many queries as keys, you would not "
        "notice the mistake.",
    ),
    _pooling(
        "not-normalised",
        WEIGHTS,
        "weights = reached",
        "Your weights are the raw kernel values; they do not add up to 1.",
        "Without the division, an estimate grows with the number of neighbours. " + WEIGHT,
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
        "Your weights are the softmax of the kernel values.",
        "A softmax takes an exponential first, so even keys out of reach get some weight. " + WEIGHT,
    ),
    _pooling(
        "unreached-nan",
        FALLBACK,
        "reached = reached + 0 * nearest",
        "A query that reaches no key has a result that is not finite, as if you divided 0 by 0.",
        UNREACHED,
    ),
    _pooling(
        "unreached-zero",
        f"{FALLBACK}\n    {WEIGHTS}",
        "total = reached.sum(dim=1, keepdim=True)\n"
        "    weights = reached / torch.where(total == 0, torch.ones_like(total), total)",
        "A query that reaches no key gives weight 0 to all keys.",
        UNREACHED,
    ),
    _pooling(
        "unreached-mean",
        FALLBACK,
        FALLBACK.replace("nearest", "torch.ones_like(reached)"),
        "A query that reaches no key attends to all keys equally.",
        UNREACHED,
    ),
    _pooling(
        "unreached-one-of-the-nearest",
        FALLBACK,
        "nearest = nn.functional.one_hot(distances.argmin(dim=1), len(keys)).to(reached.dtype)\n    " + FALLBACK,
        "A query that reaches no key attends to only one of its nearest keys, although others are equally near.",
        UNREACHED,
    ),
    _pooling(
        "unreached-all",
        FALLBACK,
        "reached = torch.where((reached == 0).all(dim=1).any(), nearest, reached)",
        "Queries that reach some keys attend only to their nearest keys, as if a single query or key out of reach "
        "affected all queries.",
        "Decide this separately for each query, based on its own row of kernel values. " + UNREACHED,
    ),
    _pooling(
        "unreached-any",
        FALLBACK,
        FALLBACK.replace(".all(", ".any("),
        "A query that reaches only some of the keys attends only to its nearest key.",
        "One key within reach is enough. " + UNREACHED,
        same_as=("pooling.unreached-all",),
    ),
    _pooling(
        "unreached-tiny",
        FALLBACK,
        FALLBACK.replace("(reached == 0).all(dim=1, keepdim=True)", "reached.sum(dim=1, keepdim=True) < 1e-6"),
        "A query whose kernel values are tiny, but not 0, attends to its nearest key as if it reached no key.",
        "However far away a key is, a query reaches it if the kernel value is above 0. " + UNREACHED,
    ),
    _pooling(
        "values-missing",
        RETURN,
        "return weights, weights",
        "Your estimates are the weights themselves: the values are missing.",
        "Attention returns a weighted mean of the values. See the Returns section for the shapes of the two results.",
    ),
    _pooling(
        "results-exchanged",
        RETURN,
        "return weights, weights @ values",
        "Your second result contains the estimates, as if the two results were swapped.",
        "See the Returns section of the docstring for the order of the two results.",
    ),
    _pooling(
        "weights-not-returned",
        RETURN,
        "return weights @ values",
        "You return only the estimates.",
        "See the Returns section of the docstring: the heatmaps need the weights too.",
    ),
    # The effect is as small as the added number, except for queries that are far from all keys.
    _pooling(
        "small-number-added",
        f"{FALLBACK}\n    {WEIGHTS}",
        f"{FALLBACK}\n    weights = reached / (reached.sum(dim=1, keepdim=True) + 1e-8)",
        "Where the kernel is tiny for all keys, your weights do not add up to 1, as if you added a number to the sum.",
        "You can divide by a tiny sum too; only a sum of 0 needs special treatment. " + WEIGHT,
    ),
    # The visible tests only warn of this.
    _pooling(
        "width-without-gradient",
        REACHED,
        "reached = kernel(distances / float(width))",
        "Your result is right, but no gradient reaches the width, so it would never be learned.",
        "Autograd does not track Python numbers. See what the docstring says about a width that is a tensor.",
        hidden=True,
    ),
    _pooling(
        "gradient-not-finite",
        f"{FALLBACK}\n    {WEIGHTS}",
        f"{WEIGHTS}\n    weights = torch.where(weights.isnan(), nearest / nearest.sum(dim=1, keepdim=True), weights)",
        "Your result is right, but the gradient of the width is not finite where a query reaches no key.",
        "Replacing the result of 0 divided by 0 is too late: its gradient is NaN even if you discard the result. Fix "
        "the numbers before you divide.",
        hidden=True,
    ),
    Mistake(
        id="pooling.regression-logarithm",
        module="pooling",
        old=FORWARD,
        new=FORWARD.replace(".exp()", ""),
        looks_like="Your regression uses the logarithm of the width as the width.",
        read_again=WIDTH,
    ),
    Mistake(
        id="pooling.regression-width-1",
        module="pooling",
        old=FORWARD,
        new=FORWARD.replace(", self.log_width.exp()", ""),
        looks_like="Your regression always uses the width 1.",
        read_again="A width that has no effect cannot be learned. " + WIDTH,
    ),
    Mistake(
        id="pooling.regression-gaussian",
        module="pooling",
        old=FORWARD,
        new=FORWARD.replace("self.kernel", "gaussian"),
        looks_like="Your regression always uses the Gaussian kernel.",
        read_again=KERNEL,
    ),
    Mistake(
        id="pooling.regression-without-gradient",
        module="pooling",
        old=FORWARD,
        new=FORWARD.replace(".exp()", ".exp().item()"),
        looks_like="Your result is right, but no gradient reaches the width, so it would never be learned.",
        read_again="Autograd does not track Python numbers: pass the tensor itself.",
        seen_by="hidden",
    ),
    Mistake(
        id="pooling.own-pair-kept",
        module="pooling",
        old=LEFT_OUT,
        new="_, weights = self(keys, keys, values)",
        looks_like="Your predictions use the values that they should predict: each pair also attends to itself.",
        read_again="An error measured this way says nothing about unknown values. " + ALONE,
    ),
    Mistake(
        id="pooling.own-weight-dropped",
        module="pooling",
        old=LEFT_OUT,
        new="_, weights = self(keys, keys, values)\n        weights = weights.masked_fill(own, 0)",
        looks_like="Your weights do not add up to 1. You set each pair's own weight to 0, but still count it in the "
        "sum that you divide by.",
        read_again=ALONE,
    ),
    Mistake(
        id="pooling.own-weight-shared-out",
        module="pooling",
        old=LEFT_OUT,
        new="_, weights = self(keys, keys, values)\n        weights = weights.masked_fill(own, 0)\n"
        "        weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-12)",
        looks_like="A pair that reaches no other pair gets weights of 0, as if its own weight were removed too late.",
        read_again="If the pair's own key still counts when you check which keys are reached, no weight is left once "
        "you remove it. " + ALONE,
    ),
    Mistake(
        id="pooling.own-pair-far-away",
        module="pooling",
        old=OTHERS,
        new="distances = distances.masked_fill(own, math.inf)\n"
        "        reached = self.kernel(distances / self.log_width.exp())",
        looks_like="With a kernel that never becomes 0, each pair gives weight to itself.",
        read_again="With some kernels, even an infinite distance does not remove the pair itself. " + ALONE,
    ),
    Mistake(
        id="pooling.nearest-is-itself",
        module="pooling",
        old=LEFT_OUT,
        new=LEFT_OUT.replace("\n        distances = distances.masked_fill(own, math.inf)", ""),
        looks_like="A pair that reaches no other pair attends to itself.",
        read_again="The nearest key of all is the pair's own key, which must not count. " + ALONE,
    ),
    Mistake(
        id="pooling.left-out-unreached-nan",
        module="pooling",
        old=LEFT_OUT,
        new=LEFT_OUT.replace(FALLBACK, "reached = reached + 0 * nearest"),
        looks_like="A pair that reaches no other pair has a result that is not finite, as if you divided 0 by 0.",
        read_again="The docstring says how to predict the value of such a pair.",
    ),
    Mistake(
        id="pooling.left-out-logarithm",
        module="pooling",
        old=OTHERS,
        new=OTHERS.replace(".exp()", ""),
        looks_like="Your leave-one-out predictions use the logarithm of the width as the width.",
        read_again=WIDTH,
    ),
    Mistake(
        id="pooling.left-out-width-1",
        module="pooling",
        old=OTHERS,
        new=OTHERS.replace(" / self.log_width.exp()", ""),
        looks_like="Your leave-one-out predictions always use the width 1.",
        read_again="A width that has no effect cannot be learned. " + WIDTH,
    ),
    Mistake(
        id="pooling.left-out-gaussian",
        module="pooling",
        old=OTHERS,
        new=OTHERS.replace("self.kernel(", "gaussian("),
        looks_like="Your leave-one-out predictions always use the Gaussian kernel.",
        read_again=KERNEL,
    ),
    Mistake(
        id="pooling.left-out-without-gradient",
        module="pooling",
        old=OTHERS,
        new=OTHERS.replace(".exp()", ".exp().item()"),
        looks_like="Your predictions are right, but no gradient reaches the width, so it would never be learned.",
        read_again="Autograd does not track Python numbers: divide by the tensor itself.",
        seen_by="hidden",
    ),
)
