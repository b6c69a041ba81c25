"""Known mistakes of stage 1: the kernels."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
BOXCAR = "return (u <= 1).to(u.dtype)"
TRIANGULAR = "return torch.clamp(1 - u, min=0)"
EPANECHNIKOV = "return 0.75 * torch.clamp(1 - u**2, min=0)"

SEE = "Each docstring has the formula; work out its values at 0, a half, 1 and 2 by hand."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="pooling.boxcar-open",
        module="pooling",
        old=BOXCAR,
        new=BOXCAR.replace("<=", "<"),
        looks_like="Your boxcar kernel is 0 where the scaled distance is exactly 1.",
        read_again="The docstring says what holds at the edge itself. " + SEE,
    ),
    Mistake(
        id="pooling.boxcar-boolean",
        module="pooling",
        old=BOXCAR,
        new="return u <= 1",
        looks_like="Your boxcar kernel gives truth values or whole numbers instead of floating point numbers.",
        read_again="Kernel values are added up and divided, in the dtype of the distances. See under Returns in the "
        "docstring.",
    ),
    Mistake(
        id="pooling.boxcar-half",
        module="pooling",
        old=BOXCAR,
        new=BOXCAR.replace("1", "0.5"),
        looks_like="Your boxcar kernel ends at a half instead of at 1.",
        read_again="The argument is a distance from the centre, so the whole box is twice as wide. " + SEE,
    ),
    Mistake(
        id="pooling.boxcar-inverted",
        module="pooling",
        old=BOXCAR,
        new=BOXCAR.replace("<=", ">"),
        looks_like="Your boxcar kernel is 1 for what is far away and 0 for what is near.",
        read_again="A kernel measures nearness, so it is largest at 0. " + SEE,
    ),
    Mistake(
        id="pooling.triangular-not-cut",
        module="pooling",
        old=TRIANGULAR,
        new="return 1 - u",
        looks_like="Your triangular kernel becomes negative beyond 1.",
        read_again="A negative weight would push the estimate away from a value. See the end of the kernel in the "
        "docstring.",
    ),
    Mistake(
        id="pooling.triangular-rises-again",
        module="pooling",
        old=TRIANGULAR,
        new="return torch.abs(1 - u)",
        looks_like="Your triangular kernel rises again beyond 1.",
        read_again="Taking the absolute value folds the line upwards; it shall end at 0 instead. " + SEE,
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
        looks_like="Your kernel of Epanechnikov is the triangular one.",
        read_again="Some lecture notes exchange the two names. This kernel is a parabola. " + SEE,
    ),
    Mistake(
        id="pooling.epanechnikov-not-squared",
        module="pooling",
        old=EPANECHNIKOV,
        new=EPANECHNIKOV.replace("**2", ""),
        looks_like="Your kernel of Epanechnikov is a triangle of height three quarters: the distance is not squared.",
        read_again="This kernel is a parabola. " + SEE,
    ),
    Mistake(
        id="pooling.epanechnikov-factor-missing",
        module="pooling",
        old=EPANECHNIKOV,
        new=EPANECHNIKOV.replace("0.75 * ", ""),
        looks_like="Your kernel of Epanechnikov is 1 at distance 0: its factor is missing.",
        read_again="The factor makes the area under the kernel 1. It changes no weights, but the kernel. " + SEE,
    ),
    Mistake(
        id="pooling.epanechnikov-not-cut",
        module="pooling",
        old=EPANECHNIKOV,
        new="return 0.75 * (1 - u**2)",
        looks_like="Your kernel of Epanechnikov becomes negative beyond 1.",
        read_again="Outside its range the kernel is 0, not the rest of the parabola. " + SEE,
    ),
    Mistake(
        id="pooling.epanechnikov-square-outside",
        module="pooling",
        old=EPANECHNIKOV,
        new="return 0.75 * torch.clamp(1 - u, min=0) ** 2",
        looks_like="In your kernel of Epanechnikov the difference is squared instead of the distance.",
        read_again="Look at what stands under the exponent in the docstring. " + SEE,
    ),
)
