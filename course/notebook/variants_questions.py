"""The answers to the questions of `variants`, notebooks 1 to 4. The questions themselves are in the notebooks."""

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
        "c: without keepdim the mean is (3), which lines up with the last axis of (3, 3). So the mean of row i is "
        "subtracted from column i. The shapes fit, so nothing fails.",
        (
            ("a", "Shapes line up from the right: the mean (3) lines up with the last axis."),
            ("b", "Would (3, 3) and (3) not broadcast?"),
            ("d", "Which axis does the mean (3) line up with?"),
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
            (144, "The second map has biases too, one for each output feature."),
            (160, "The second map has 4 biases, not 16: one for each output feature."),
        ),
    ),
    # 2_heads
    "heads-parameters": Question(
        440,
        "4 times 10 times 10 weights and 4 times 10 biases make 440. The number of heads does not matter.",
        (
            (400, "And the biases?"),
            (330, "That is W_qkv alone. W_o has 110 more."),
            (300, "Those are the weights of W_qkv alone. Add the biases, and W_o."),
            (88, "Each head has its own maps, and there are five heads."),
        ),
    ),
    "heads-stride": Question(
        4,
        "The strides were (60, 12, 4, 1). Axis 1 is now the head, whose stride is 4: in the features of a "
        "position, the heads follow one another.",
        (
            (12, "That is the stride of the positions, which are now axis 2."),
            (20, "That would be the stride after contiguous()."),
            (60, "That is the stride of the sequences, axis 0."),
        ),
    ),
    "heads-mask": Question(
        "b",
        "b: (B, 1, T) becomes (B, 1, 1, T), the same for all heads and all queries.",
        (
            ("a", "There are B times T entries. That fits into (1, 1, T, T) only by accident."),
            ("c", "(B, 1, T, 1) would forbid queries, not keys."),
            ("d", "From the right, (B, 1, T) is (1, B, 1, T): the sequences line up with the heads."),
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
    # 3_lm
    "lm-parameters": Question(
        1768,
        "800 embeddings, 80 positions, 12 times 64 + 13 times 8 = 872 in the layer, 16 in the final norm: 1,768.",
        (
            (2568, "The output has no matrix of its own: it uses the embeddings."),
            (1752, "And the final norm?"),
            (1688, "And the positions?"),
        ),
    ),
    "lm-targets": Question(
        8,
        "Each row predicts all of its tokens but the first: 4 + 3 + 1 = 8.",
        (
            (11, "The first token of a row is never predicted."),
            (12, "Padding does not count."),
            (15, "Padding does not count, and the first token of a row is never predicted."),
        ),
    ),
    "lm-bits": Question(
        1.082,
        "3 / ln 2 = 4.33 bits per token, and 4.33 / 4 = 1.08 bits per character.",
        (
            (0.75, "That is nats per character. Divide by ln 2 as well."),
            (4.328, "That is bits per token."),
            (0.52, "To convert nats to bits, divide by ln 2: the number gets larger."),
        ),
        tolerance=0.01,
    ),
    "lm-order": Question(
        "b",
        "b: x + 0, twice. The norm is only inside the side branch.",
        (
            ("a", "x is added to the sub-layer's output."),
            ("c", "That would be post-norm with one sub-layer. In pre-norm x itself is not normalised."),
            ("d", "That would be post-norm."),
        ),
    ),
    # 4_generate
    "generate-cache": Question(
        12,
        "Keys and values: 2 times 4 layers times 256 times 192 numbers are 393,216. Times 8 texts times 4 bytes, that "
        "is 12,582,912 bytes, 12 MiB.",
        (
            (6, "Keys and values: both are kept."),
            (1.5, "That is one text. There are 8."),
            (3, "Each number has 4 bytes, and there are 4 layers."),
        ),
    ),
    "generate-mask": Question(
        10,
        "Row i forbids the tokens after it: 4 + 3 + 2 + 1 + 0 = 10.",
        (
            (15, "That many are allowed."),
            (20, "Only later tokens are forbidden."),
            (0, "That would be a step with one token."),
        ),
    ),
    "generate-top-p": Question(
        3,
        "0.4, then 0.7, which does not reach 0.75, then 0.9, which does: 3 tokens.",
        ((2, "Together they have probability 0.7, which does not reach 0.75. The token that reaches it is kept too."),),
    ),
    "generate-temperature": Question(
        0.982,
        "The logits become 4 and 0: 1 / (1 + exp(-4)) = 0.982.",
        (
            (0.881, "That is for temperature 1. Divide the logits by 0.5 first."),
            (0.731, "You have multiplied by the temperature. Divide."),
        ),
        tolerance=0.0015,
    ),
}
