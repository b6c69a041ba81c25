"""Known mistakes in stage 7: loss, rates and weight decay."""

from autograder.assignments.variants.mistakes import updates
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
SURPRISE = "surprise = -F.log_softmax(logits, dim=-1)"
OF_ALL = "of_all = surprise.mean(dim=-1)"
COUNTED = "counted = targets != padding_idx"
LOSS = "return ((1 - smoothing) * of_target + smoothing * of_all)[counted].mean()"
WARMUP = "return peak * min(step / warmup, math.sqrt(warmup / step))"
RISING = "if step <= warmup:\n        return peak * step / warmup"
DONE = "done = min(1.0, (step - warmup) / (total - warmup))"
FALLING = "return floor + (peak - floor) * (1 + math.cos(math.pi * done)) / 2"

SMOOTHING = "The docstring gives the formula, and says which tokens get a share of the smoothing."
MEAN = "The mean is over all targets of the batch that are not padding."
RATE = (
    "Compute the rate for a few steps by hand, from the docstring: at step 1, at the end of the warm-up, and after it."
)

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "training.smoothing-on-others",
        "training",
        LOSS,
        "V = logits.size(-1)\n    others = (of_all * V - of_target) / (V - 1)\n"
        "    return ((1 - smoothing) * of_target + smoothing * others)[counted].mean()",
        "Your smoothing gives a share only to the wrong tokens.",
        "Some programs do that. " + SMOOTHING,
    ),
    Mistake(
        "training.smoothing-without-padding-token",
        "training",
        OF_ALL,
        "kept = torch.arange(logits.size(-1)) != padding_idx\n    of_all = surprise[..., kept].mean(dim=-1)",
        "Your smoothing leaves the padding token out.",
        "Some programs do that. " + SMOOTHING,
    ),
    Mistake(
        "training.smoothing-added",
        "training",
        LOSS,
        "return (of_target + smoothing * of_all)[counted].mean()",
        "Your loss adds the smoothing to the full cross-entropy.",
        "The target probabilities of all tokens add up to 1, so the right token gets less than 1. " + SMOOTHING,
    ),
    Mistake(
        "training.smoothing-ignored",
        "training",
        LOSS,
        "return of_target[counted].mean()",
        "Your loss is the cross-entropy without smoothing.",
        SMOOTHING,
    ),
    Mistake(
        "training.smoothing-sum-over-tokens",
        "training",
        OF_ALL,
        "of_all = surprise.sum(dim=-1)",
        "Your smoothing takes the sum over the vocabulary instead of the mean.",
        "Each of the V tokens gets a share of smoothing / V.",
    ),
    Mistake(
        "training.loss-overflows",
        "training",
        SURPRISE,
        "powers = logits.exp()\n    surprise = -(powers / powers.sum(dim=-1, keepdim=True)).log()",
        "Your loss is not finite for large logits.",
        "The exponential of 1,000 overflows, and the logarithm of 0 is minus infinity. A softmax and its logarithm "
        "can be computed together.",
    ),
    Mistake(
        "training.loss-log-of-softmax",
        "training",
        SURPRISE,
        "surprise = -torch.softmax(logits, dim=-1).log()",
        "Your loss is not finite for large logits: the probability of an unlikely token becomes 0.",
        "The logarithm of 0 is minus infinity. A softmax and its logarithm can be computed together.",
    ),
    Mistake(
        "training.loss-with-padding",
        "training",
        COUNTED,
        "counted = torch.ones_like(targets, dtype=torch.bool)",
        "Your loss includes the padding.",
        MEAN,
    ),
    Mistake(
        "training.loss-divided-by-all",
        "training",
        LOSS,
        "return ((1 - smoothing) * of_target + smoothing * of_all)[counted].sum() / targets.numel()",
        "Your loss leaves padding out of the sum but divides by the total number of targets.",
        MEAN,
    ),
    Mistake(
        "training.loss-mean-of-sequences",
        "training",
        LOSS,
        "each = ((1 - smoothing) * of_target + smoothing * of_all) * counted\n"
        "    return (each.sum(dim=1) / counted.sum(dim=1)).mean()",
        "Your loss averages per sequence first, so the tokens of short sequences count more.",
        MEAN,
    ),
    Mistake(
        "training.loss-sum",
        "training",
        LOSS,
        LOSS.replace(".mean()", ".sum()"),
        "Your loss is a sum instead of a mean.",
        MEAN,
    ),
    Mistake(
        "training.loss-negative",
        "training",
        SURPRISE,
        SURPRISE.replace("-F.", "F."),
        "Your loss has the wrong sign: it grows as the model gets better.",
        "The logarithm of a probability is negative, but a loss is positive.",
    ),
    Mistake(
        "training.loss-in-bits",
        "training",
        LOSS,
        f"{LOSS} / math.log(2)",
        "Your loss is in bits instead of nats.",
        "Nats are the unit of the natural logarithm.",
    ),
    Mistake(
        "training.loss-detached",
        "training",
        OF_ALL,
        "of_all = surprise.detach().mean(dim=-1)",
        "Your loss is right, but its gradient lacks the smoothing.",
        "Somewhere the computation leaves the autograd graph.",
        seen_by="hidden",
    ),
    Mistake(
        "training.warmup-maximum",
        "training",
        WARMUP,
        WARMUP.replace("min(", "max("),
        "Your rate starts on the falling branch, above its peak, as if you took the larger of the two branches.",
        RATE,
    ),
    Mistake(
        "training.warmup-formula-not-scaled",
        "training",
        WARMUP,
        "return peak * min(step**-0.5, step * warmup**-1.5)",
        "Your rate uses the formula from the paper, whose leading factor is not the largest rate.",
        "At the end of the warm-up the rate is the peak itself. " + RATE,
    ),
    Mistake(
        "training.warmup-one-over-step",
        "training",
        WARMUP,
        WARMUP.replace("math.sqrt(warmup / step)", "warmup / step"),
        "Your rate falls as 1 / step instead of 1 / sqrt(step).",
        RATE,
    ),
    Mistake(
        "training.warmup-missing",
        "training",
        WARMUP,
        "return peak * min(1.0, math.sqrt(warmup / step))",
        "Your rate has no warm-up: it starts at its peak.",
        RATE,
    ),
    Mistake(
        "training.warmup-counted-from-zero",
        "training",
        WARMUP,
        "return peak * min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))",
        "Your rate is one step ahead.",
        "Steps are counted from 1. " + RATE,
    ),
    Mistake(
        "training.warmup-constant-after",
        "training",
        WARMUP,
        "return peak * min(step / warmup, 1.0)",
        "After the warm-up, your rate stays at its peak.",
        RATE,
    ),
    Mistake(
        "training.cosine-without-warmup",
        "training",
        f"{RISING}\n    {DONE}",
        "done = min(1.0, step / total)",
        "Your cosine schedule has no warm-up.",
        RATE,
    ),
    Mistake(
        "training.cosine-over-all-steps",
        "training",
        DONE,
        "done = min(1.0, step / total)",
        "Your cosine runs over all steps, including the warm-up, so the rate jumps at the end of the warm-up.",
        RATE,
    ),
    Mistake(
        "training.cosine-comes-back",
        "training",
        DONE,
        "done = (step - warmup) / (total - warmup)",
        "Your rate rises again after the last step.",
        "A cosine rises again after its lowest point. See the last sentence of the docstring.",
    ),
    Mistake(
        "training.cosine-without-floor",
        "training",
        FALLING,
        "return peak * (1 + math.cos(math.pi * done)) / 2",
        "Your rate falls towards 0 instead of the final rate.",
        RATE,
    ),
    Mistake(
        "training.cosine-floor-added",
        "training",
        FALLING,
        FALLING.replace("(peak - floor)", "peak"),
        "Your rate starts above the peak: it is too high by exactly the final rate.",
        "The cosine goes from the peak to the floor, so its height is the difference between the two.",
    ),
    Mistake(
        "training.cosine-floor-as-limit",
        "training",
        FALLING,
        "return max(floor, peak * (1 + math.cos(math.pi * done)) / 2)",
        "Your rate falls towards 0 and is cut off at the final rate.",
        "The docstring gives the rate at the half-way point.",
        same_as=("training.cosine-without-floor",),
    ),
    Mistake(
        "training.cosine-straight",
        "training",
        FALLING,
        "return floor + (peak - floor) * (1 - done)",
        "Your rate falls in a straight line.",
        "The rate falls slowly at first and slowly at the end. See the docstring.",
    ),
    Mistake(
        "training.cosine-quarter",
        "training",
        FALLING,
        "return floor + (peak - floor) * math.cos(math.pi / 2 * done)",
        "Your rate falls along a quarter of a cosine.",
        "From 0 to pi the cosine goes from 1 to -1. See the docstring.",
    ),
    Mistake(
        "training.cosine-whole",
        "training",
        FALLING,
        FALLING.replace("math.pi * done", "2 * math.pi * done"),
        "Your rate falls too fast, as if along a whole cosine, which rises again before the last step.",
        "From 0 to pi the cosine goes from 1 to -1. See the docstring.",
    ),
    *updates.MISTAKES,
)
