"""The answers to the questions of the assignment `attention`. The questions themselves are in its notebooks."""

from course.notebook.questions import Question

ATTENTION_QUESTIONS = {
    # 1_pooling
    "pooling-weight": Question(
        0.574,
        "The kernel is 1, exp(-1/2) = 0.607 and exp(-2) = 0.135, in total 1.742. The weight is 1 / 1.742 = 0.574.",
        (
            (1, "That is the kernel's value. The three weights must sum to 1."),
            (0.665, "The Gaussian uses the squared distance, divided by 2."),
        ),
        tolerance=0.003,
    ),
    "pooling-triangle": Question(
        13.33,
        "The kernel is 0.8, 0.4 and 0. The weights are 2/3, 1/3 and 0, the estimate is (2 * 10 + 20) / 3 = 13.33.",
        (
            (16, "0.8 and 0.4 are not the weights yet: their sum is 1.2."),
            (43, "That is the plain mean. The third key is out of reach."),
        ),
        tolerance=0.02,
    ),
    "pooling-cheat": Question(
        "b",
        "b: at distance 0 each key finds its own value, and a narrow kernel shuts out all others.",
        (
            ("a", "The best estimate at a key is its own value. Which width gives that?"),
            ("c", "With an infinite width the estimate is the mean of all values. Is that near the key's own value?"),
            ("d", "The loss depends on the width. Look at the first column of the table in part C."),
        ),
    ),
    # 2_scoring
    "scoring-deviation": Question(
        16,
        "The sum of 256 terms of variance 1 has variance 256. Its square root is 16.",
        (
            (256, "That is the variance. The standard deviation is its square root."),
            (1, "That is the standard deviation after the division."),
        ),
        tolerance=0.01,
    ),
    "scoring-length": Question(
        0.987,
        "The allowed scores are 0, 0 and 5: exp(5) = 148.4, and 148.4 / 150.4 = 0.987. The fourth key is left out.",
        (
            (0.018, "A length of 3 allows only the first three keys."),
            (0, "A length of 3 allows the keys 0, 1 and 2. The third key is number 2."),
        ),
        tolerance=0.002,
    ),
    "scoring-memory": Question(
        312.5,
        "Its shape is (32, 100, 100, 256): 81,920,000 numbers of four bytes, 327,680,000 bytes, 312.5 MiB.",
        (
            (1.2, "That is the size of the scores. The input of w_v has h numbers for each pair."),
            (3.125, "Every query meets every key: 100 times 100 pairs."),
            (78.125, "Each number takes four bytes."),
        ),
        tolerance=0.1,
    ),
    # 3_bahdanau
    "bahdanau-weight": Question(
        0.5,
        "The fourth position is padding. The exponentials of the others are 1, 1 and 2: the third has 2 / 4 = 0.5.",
        ((0.25, "A length of 3 excludes the fourth position."),),
        tolerance=0.001,
    ),
    "bahdanau-input": Question(
        896,
        "The embedded token has 256 numbers, the context 2 * 320 = 640 (both encoder directions): 896 in all.",
        (
            (576, "The encoder reads in two directions, so the context has 2h numbers."),
            (1216, "The state is not part of the input: the cell receives it separately."),
            (256, "And the context?"),
        ),
    ),
    "bahdanau-steps": Question(
        12,
        "12 times: the loop goes over the positions of the longest target, and each step processes the whole batch.",
        (
            (26, "One step processes all sentences of the batch."),
            (36, "One step processes all sentences of the batch."),
            (3, "The loop goes over positions, not over sentences."),
        ),
    ),
    "bahdanau-clip": Question(
        1.6,
        "The length is 10. All numbers are multiplied by 2 / 10: the 8 becomes 1.6.",
        (
            (2, "The limit applies to the length of the whole gradient, not to each number."),
            (0.8, "That is the result for a length of 1."),
        ),
        tolerance=0.001,
    ),
    # 4_translate
    "translate-columns": Question(
        8,
        "sos and at most 7 predictions: 8. The second sentence is cut off by the limit and has no eos.",
        (
            (7, "And sos?"),
            (10, "The limit allows 7 predictions."),
            (9, "The limit allows 7 predictions, and sos comes before them."),
        ),
    ),
    "translate-penalty": Question(
        0.513,
        "All words are found, so p_1 = 1. The penalty is exp(1 - 5 / 3) = 0.513.",
        (
            (1, "The candidate is shorter than the reference."),
            (0.6, "The penalty is an exponential of 1 - r / c."),
            (0.716, "The penalty has no root: only the precisions have exponents."),
        ),
        tolerance=0.002,
    ),
    "translate-clipped": Question(
        0.75,
        '"the" counts twice, as often as it occurs in the reference, and "cat" once: 3 of 4.',
        (
            (1, '"the" occurs three times in the candidate, but only twice in the reference.'),
            (0.5, '"the" occurs twice in the reference and may count twice.'),
            (0.6, "A precision is a fraction of the candidate, which has four words."),
        ),
        tolerance=0.001,
    ),
    "translate-corpus": Question(
        "d",
        "d: the counts of all sentences are added up before anything is divided, so BLEU depends on them.",
        (
            ("a", "That is the mean of the two. A corpus BLEU adds up counts."),
            ("b", "Corpus BLEU adds up the counts of both sentences, and those of the first are not 0."),
            ("c", "The words that the second sentence gets wrong are counted too."),
        ),
    ),
}
