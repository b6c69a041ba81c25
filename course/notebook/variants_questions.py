"""The answers to the questions of the assignment `variants`, notebooks 1 to 4. Their text stands in the notebooks."""

from course.notebook.questions import Question

VARIANTS_QUESTIONS = {
    # 1_layers
    "layers-norm": Question(
        1.4142,
        "The mean is 1, the variance (1 + 1 + 4) / 3 = 2, its root 1.414. The last entry is (3 - 1) / 1.414 = 1.414.",
        (
            (1.1547, "That is the unbiased variance, divided by 2. A layer norm divides by 3, the number of features."),
            (1.0, "You have divided by the variance. Take its root."),
        ),
        tolerance=0.006,
    ),
    "layers-broadcast": Question(
        "c",
        "c: without keepdim the mean is (3), which lines up with the last axis of (3, 3): each column loses the mean "
        "of the row of the same number. The shapes fit, so nothing fails.",
        (
            ("a", "Shapes line up from the right: the mean (3) meets the last axis."),
            ("b", "Would (3, 3) and (3) not broadcast?"),
            ("d", "Which axis does the mean (3) meet?"),
        ),
    ),
    "layers-gelu": Question(
        -0.1587,
        "Phi(-1) = 0.1587, and -1 times 0.1587 is -0.1587.",
        (
            (0.1587, "That is Phi(-1). GELU is x times Phi(x), and x is -1."),
            (0.0, "That is ReLU. GELU lets a little through below 0."),
            (-0.8413, "That is -Phi(1). You need Phi(-1) = 1 - Phi(1)."),
        ),
        tolerance=0.001,
    ),
    "layers-network": Question(
        148,
        "4 times 16 weights and 16 biases, then 16 times 4 weights and 4 biases: 64 + 16 + 64 + 4 = 148.",
        (
            (128, "And the biases?"),
            (144, "The second map has biases too, one for each feature that comes out."),
            (160, "The second map has 4 biases, not 16: one for each feature that comes out."),
        ),
    ),
    # 2_heads
    "heads-parameters": Question(
        440,
        "4 times 10 times 10 weights and 4 times 10 biases are 440. The number of heads does not matter.",
        (
            (400, "And the biases?"),
            (330, "That is W_qkv alone. W_o has 110 more."),
            (300, "That is the weights of W_qkv alone. There are biases, and W_o."),
            (88, "Each head has its own maps, and there are five."),
        ),
    ),
    "heads-stride": Question(
        4,
        "The strides were (60, 12, 4, 1). Axis 1 is now the head, whose stride is 4: one head after the other stands "
        "in the features of a position.",
        (
            (12, "That is the stride of the positions, which are now axis 2."),
            (20, "That would be so after contiguous()."),
            (60, "That is the stride of the sequences, axis 0."),
        ),
    ),
    "heads-mask": Question(
        "b",
        "b: (B, 1, T) becomes (B, 1, 1, T), the same for all heads and all queries.",
        (
            ("a", "There are B times T entries. That fits into (1, 1, T, T) only by accident."),
            ("c", "(B, 1, T, 1) would forbid queries, not keys."),
            ("d", "From the right, (B, 1, T) is (1, B, 1, T): the sequences meet the heads."),
        ),
    ),
    "heads-multiplications": Question(
        384,
        "2 T² d = 4 T d² means T = 2 d = 384.",
        (
            (192, "2 T² d = 4 T d²: divide both sides by 2 T d."),
            (96, "Divide both sides by 2 T d: what is left of 4 T d²?"),
        ),
    ),
}
