"""The answers to the questions of the assignment `attention`. Their text stands in its notebooks."""

from course.notebook.questions import Question

ATTENTION_QUESTIONS = {
    # 1_pooling
    "pooling-weight": Question(
        0.574,
        "The kernel gives 1, exp(-1/2) = 0.607 and exp(-2) = 0.135, in all 1.742. The weight is 1 / 1.742 = 0.574.",
        (
            (1, "That is the value of the kernel. The weights of all three have the sum 1."),
            (0.665, "The Gaussian has the square of the distance, divided by 2."),
        ),
        tolerance=0.003,
    ),
    "pooling-triangle": Question(
        13.33,
        "The kernel gives 0.8, 0.4 and 0. The weights are 2/3, 1/3 and 0, the estimate is (2 * 10 + 20) / 3 = 13.33.",
        (
            (16, "0.8 and 0.4 are not the weights yet: their sum is 1.2."),
            (43, "That is the plain mean. The third key is out of reach."),
        ),
        tolerance=0.02,
    ),
    "pooling-cheat": Question(
        "b",
        "b: at the distance 0 each key finds its own value, and a narrow kernel lets no other disturb it.",
        (
            ("a", "At the keys the best answer is the own value. Which width gives it?"),
            ("c", "With an infinite width the estimate is the mean of all. Is that near to the own value?"),
            ("d", "The loss depends on the width. Look at the first column of the table in part C."),
        ),
    ),
    # 2_scoring
    "scoring-deviation": Question(
        16,
        "256 terms of variance 1 have together the variance 256. Its root is 16.",
        (
            (256, "That is the variance. The standard deviation is its root."),
            (1, "That is what the division makes of it."),
        ),
        tolerance=0.01,
    ),
    "scoring-length": Question(
        0.987,
        "Allowed are 0, 0 and 5: exp(5) = 148.4, and 148.4 / 150.4 = 0.987. The fourth key is left out.",
        (
            (0.018, "A length of 3 allows the first three keys only."),
            (0, "A length of 3 allows the keys 0, 1 and 2. The third key is number 2."),
        ),
        tolerance=0.002,
    ),
    "scoring-memory": Question(
        312.5,
        "It is (32, 100, 100, 256): 81,920,000 numbers of four bytes, 327,680,000 bytes, 312.5 MiB.",
        (
            (1.2, "That is the size of the scores. In front of w_v there are h numbers for each pair."),
            (3.125, "Every query meets every key: 100 times 100 pairs."),
            (78.125, "Each number takes four bytes."),
        ),
        tolerance=0.1,
    ),
}
