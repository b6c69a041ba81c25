"""Known mistakes in stage 1: the kernels."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
BOXCAR = "return (u <= 1).to(u.dtype)"
TRIANGULAR = "return torch.clamp(1 - u, min=0)"
EPANECHNIKOV = "return 0.75 * torch.clamp(1 - u**2, min=0)"

SEE = "Each docstring gives the formula; calculate its values at 0, 0.5, 1 and 2 by hand."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="pooling.boxcar-open",
        module="pooling",
        old=BOXCAR,
        new=BOXCAR.replace("<=", "<"),
        looks_like="Your boxcar kernel is 0 where the scaled distance is exactly 1.",
        read_again="The docstring gives the value at the edge itself. " + SEE,
    ),
    Mistake(
        id="pooling.boxcar-boolean",
        module="pooling",
        old=BOXCAR,
        new="return u <= 1",
        looks_like="Your boxcar kernel returns booleans or integers instead of floating-point numbers.",
        read_again="Kernel values are added and divided, so they must have the dtype of the distances. See the Returns "
        "section of the docstring.",
    ),
    Mistake(
        id="pooling.boxcar-half",
        module="pooling",
        old=BOXCAR,
        new=BOXCAR.replace("1", "0.5"),
        looks_like="Your boxcar kernel drops to 0 at 0.5 instead of at 1.",
        read_again="The argument is a distance from the centre, so the whole box is twice as wide. " + SEE,
    ),
    Mistake(
        id="pooling.boxcar-inverted",
        module="pooling",
        old=BOXCAR,
        new=BOXCAR.replace("<=", ">"),
        looks_like="Your boxcar kernel is 1 for distant points and 0 for nearby points.",
        read_again="A kernel measures nearness, so it is largest at 0. " + SEE,
    ),
    Mistake(
        id="pooling.triangular-not-cut",
        module="pooling",
        old=TRIANGULAR,
        new="return 1 - u",
        looks_like="Your triangular kernel becomes negative beyond 1.",
        read_again="A key with a negative weight would push the estimate away from its value. The docstring "
        "gives the kernel's value beyond 1.",
    ),
    Mistake(
        id="pooling.triangular-rises-again",
        module="pooling",
        old=TRIANGULAR,
        new="return torch.abs(1 - u)",
        looks_like="Your triangular kernel rises again beyond 1.",
        read_again="Taking the absolute value folds the line upwards, but the kernel must stay 0 beyond 1. " + SEE,
    ),
    Mistake(
        id="pooling.triangular-is-epanechnikov",
        module="pooling",
        old=TRIANGULAR,
        new="return torch.clamp(1 - u**2, min=0)",
        looks_like="Your triangular kernel is a parabola.",
        read_again="A triangle has straight sides. " + SEE,
    ),
    Mistake(
        id="pooling.epanechnikov-is-triangular",
        module="pooling",
        old=EPANECHNIKOV,
        new="return torch.clamp(1 - u, min=0)",
        looks_like="Your Epanechnikov kernel is the triangular kernel.",
        read_again="Some lecture notes swap the two names. This kernel is a parabola. " + SEE,
    ),
    Mistake(
        id="pooling.epanechnikov-not-squared",
        module="pooling",
        old=EPANECHNIKOV,
        new=EPANECHNIKOV.replace("**2", ""),
        looks_like="Your Epanechnikov kernel is a triangle of height 3/4: the distance is not squared.",
        read_again="This kernel is a parabola. " + SEE,
    ),
    Mistake(
        id="pooling.epanechnikov-factor-missing",
        module="pooling",
        old=EPANECHNIKOV,
        new=EPANECHNIKOV.replace("0.75 * ", ""),
        looks_like="Your Epanechnikov kernel is 1 at distance 0: its factor is missing.",
        read_again="With this factor, the area under the kernel is 1. The factor cancels out in the weights, but it is "
        "part of the kernel. " + SEE,
    ),
    Mistake(
        id="pooling.epanechnikov-not-cut",
        module="pooling",
        old=EPANECHNIKOV,
        new="return 0.75 * (1 - u**2)",
        looks_like="Your Epanechnikov kernel becomes negative beyond 1.",
        read_again="Beyond 1 the kernel is 0; the parabola does not continue there. " + SEE,
    ),
    Mistake(
        id="pooling.epanechnikov-square-outside",
        module="pooling",
        old=EPANECHNIKOV,
        new="return 0.75 * torch.clamp(1 - u, min=0) ** 2",
        looks_like="Your Epanechnikov kernel squares the whole difference instead of only the distance.",
        read_again="Check what is squared in the docstring's formula. " + SEE,
    ),
)
