"""The answers to the questions of the last four notebooks of `variants`. The questions are in the notebooks."""

from course.notebook.questions import Question

MODEL_QUESTIONS = {
    # 5_tagger
    "tagger-mask": Question(
        5,
        "Three positions after the first sentence, none after the second, two after the third: 5.",
        ((10, "Those are the real tokens. True means padding."), (25, "The axis for the queries has size 1.")),
    ),
    "tagger-f1": Question(
        66.7,
        "2 x 6 / (8 + 10) = 12 / 18 = 66.7 per cent. The precision is 75 per cent, the recall 60 per cent.",
        (
            (75, "That is the precision."),
            (60, "That is the recall."),
            (67.5, "F1 is not the plain mean."),
        ),
        tolerance=0.1,
    ),
    "tagger-pairs": Question(
        15,
        "36 pairs in all. The language model allows 1 + 2 + ... + 6 = 21 of them, so 15 are new.",
        ((36, "Those are all pairs. The language model already allows 21 of them."), (21, "Those are not new.")),
    ),
    "tagger-causal": Question(
        "d",
        "d: its weights rely on tokens that are now hidden. A model trained with one-sided context has learned to "
        "do without the other side.",
        (
            ("a", "Half of what it looked at is gone."),
            ("b", "The shapes fit: there is no error."),
            ("c", "A model trained with one-sided context can do without the other side. This one can't."),
        ),
    ),
    # 6_vit
    "vit-positions": Question(
        65,
        "32 / 4 = 8, so there are 8 x 8 = 64 patches, and <cls>: 65.",
        (
            (64, "And <cls>?"),
            (193, "The channels of a patch are in one vector: they add no positions."),
            (9, "There are 8 rows of 8 patches."),
        ),
    ),
    "vit-projection": Question(
        3136,
        "A patch has 3 x 4 x 4 = 48 numbers: 48 x 64 weights and 64 biases are 3,136.",
        ((3072, "And the biases?"), (1088, "The image has three channels."), (1024, "Three channels, and the biases?")),
    ),
    "vit-halved": Question(
        16,
        "There are four times as many patches, and the weight matrix has a row and a column for each: 4 x 4 = 16.",
        (
            (4, "That is the number of patches. The weights are queries times keys."),
            (2, "A patch has two sides, and both are halved."),
        ),
    ),
    "vit-hand": Question(
        43,
        "x_2 = (8, 9, 12, 13) sums to 42, and b adds 1: 43.",
        ((42, "And b?"), (19, "x_1 is (2, 3, 6, 7). Patches are counted from 0."), (0, "That is the second feature.")),
    ),
    # 7_training
    "training-smoothed": Question(
        0.570,
        "-log 0.8 = 0.223, -log 0.2 = 1.609. 0.5 x 0.223 + 0.5 x (0.223 + 1.609) / 2 = 0.112 + 0.458 = 0.570.",
        (
            (0.223, "That is the loss without smoothing."),
            (0.916, "That is the mean over both tokens: only the smoothing term."),
            (1.028, "The smoothing term is the mean over all tokens, not the sum."),
        ),
        tolerance=0.003,
    ),
    "training-rate": Question(
        4000,
        "The square root of 1,000 / s is 1/2 at s = 4,000.",
        (
            (500, "That is on the way up. And after the peak?"),
            (2000, "1,000 / 2,000 = 1/2, but the rate uses a square root."),
        ),
    ),
    "training-clip": Question(
        4,
        "The norm is the square root of 36 + 64, which is 10. All gradients are multiplied by 5 / 10, and 8 becomes 4.",
        (
            (5, "Then it would have been clipped separately. The norm is that of both gradients."),
            (2.857, "Did you take 6 + 8 = 14 as the norm?"),
        ),
        tolerance=0.01,
    ),
    "training-stuck": Question(
        "b",
        "b: the model stays at equal probabilities because its weights do not change. Look for a .detach(), a missing "
        "backward() or step(), a rate of 0, or parameters that the optimizer was not given.",
        (
            ("a", "Many parameters make it easier to learn a batch by heart."),
            ("c", "Without smoothing the loss can come closer to 0, not stay further away."),
            ("d", "A small batch is learned by heart more easily."),
        ),
    ),
    # 8_modern
    "modern-rms": Question(
        1.6,
        "The squares 9, 16, 0, 0 have the mean 6.25 and the root 2.5: 4 / 2.5 = 1.6.",
        ((0.8, "That is 4 / 5, with the root of the sum. Take the mean of all four squares."), (0.64, "And the root?")),
        tolerance=0.005,
    ),
    "modern-angle": Question(
        1,
        "The speed is 10000^(-4/8) = 0.01. Times 100, that is 1.",
        ((0.01, "That is the speed. And at position 100?"), (10, "The exponent is -2i / d_head = -4 / 8, not -2 / 8.")),
        tolerance=0.001,
    ),
    "modern-cache": Question(
        10,
        "2 x 10 x 4 x 64 = 5,120 numbers, 10,240 bytes, 10 KiB.",
        (
            (40, "That is for 16 heads. Keys and values have 4."),
            (5, "Count keys and values, at two bytes per number."),
            (10.24, "A KiB has 1,024 bytes."),
        ),
        tolerance=0.001,
    ),
    "modern-operations": Question(
        2,
        "2 x 10^9 x 10^3 = 2 x 10^12: a multiplication and an addition for each weight and token.",
        (
            (1, "Each weight needs a multiplication and an addition."),
            (6, "That is training. Reading is only the forward pass."),
        ),
        tolerance=0.001,
    ),
}
