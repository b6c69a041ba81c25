"""The known mistakes of each stage: small changes to the reference modules, with hints. They are never shipped."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
VARIANCE = "variance = x.var(dim=-1, correction=0, keepdim=True)"
ROOT = "torch.sqrt(variance + self.eps)"

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="NEWSTAGE.unbiased-variance",
        module="NEWNAME",
        old=VARIANCE,
        new=VARIANCE.replace("correction=0", "correction=1"),
        looks_like="Your result is that of a layer norm whose variance is divided by the number of features minus one.",
        read_again="That estimate is for a sample from a larger population. Here, the features are the population. "
        "The docstring says what its variance is divided by.",
    ),
    Mistake(
        id="NEWSTAGE.eps-outside-root",
        module="NEWNAME",
        old=ROOT,
        new="(torch.sqrt(variance) + self.eps)",
        looks_like="Your result is that of a layer norm that adds the small number to the standard deviation.",
        read_again="The docstring adds it to the variance. For typical vectors that is nearly the same, but not for "
        "vectors that hardly vary.",
    ),
)
