"""Translations, references, k, and BLEU scores worked out by hand, as defined in `sentence_bleu`'s docstring."""

from math import exp

Cases = tuple[tuple[str, str, int, float], ...]

# As long as the reference or longer: no penalty.
PRECISIONS: Cases = (
    ("the dog sleeps", "the dog sleeps", 2, 1.0),
    # p_1 = 4/6, p_2 = 3/5, p_3 = 2/4
    ("the dog is asleep right now", "the dog is asleep here", 3, (4 / 6) ** 0.5 * (3 / 5) ** 0.25 * (2 / 4) ** 0.125),
    # p_1 = 3/4, p_2 = 2/3
    ("he has a cold", "he has a cat", 2, (3 / 4) ** 0.5 * (2 / 3) ** 0.25),
    ("a cat sits", "the dog sleeps", 2, 0.0),
    # p_1 = 1, p_2 = 2/3, p_3 = 0
    ("a dog a cat", "a cat a dog", 3, 0.0),
    # p_1 = 2/4, p_2 = 1/3, p_3 = 0: the reference has no triples
    ("the dog is asleep", "the dog", 3, 0.0),
    # "the" counts twice, since the reference contains it twice: p_1 = 2/5
    ("the the the the the", "the dog and the cat", 1, (2 / 5) ** 0.5),
    # "the" counts once, since the translation contains it once: p_1 = 2/3
    ("the dog barks", "the the dog", 1, (2 / 3) ** 0.5),
)
PENALTY: Cases = (
    ("the dog", "the dog is asleep", 2, exp(1 - 4 / 2)),
    # p_1 = 2/3, p_2 = 1/2
    ("the dog sleeps", "the dog is asleep", 2, exp(1 - 4 / 3) * (2 / 3) ** 0.5 * (1 / 2) ** 0.25),
)
# Fewer tokens than k: a single token has no pairs, so only n = 1 counts.
SHORT: Cases = (
    ("yes", "yes", 4, 1.0),
    ("yes", "yes indeed", 4, exp(1 - 2 / 1)),
    ("", "the dog sleeps", 2, 0.0),
)
