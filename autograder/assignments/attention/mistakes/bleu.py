"""Known mistakes in stage 4: BLEU, which measures the quality of translations."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
EMPTY = "    if not candidate:\n        return 0.0\n"
PENALTY = "bleu = math.exp(min(0.0, 1 - len(reference) / len(candidate)))"
LENGTHS = "for n in range(1, min(k, len(candidate)) + 1):"
SHARED = "shared = ngrams(candidate, n) & ngrams(reference, n)  # the smaller of both counts"
PRECISION = "bleu *= (shared.total() / (len(candidate) - n + 1)) ** 0.5**n"

FORMULA = "Evaluate the formula in the docstring by hand for two sentences of three words."
SHORT = "The docstring has a paragraph on candidates that are short or empty."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="translate.penalty-missing",
        module="seq2seq",
        old=PENALTY,
        new="bleu = 1.0",
        looks_like="Your BLEU score has no penalty for translations that are too short.",
        read_again="Without the penalty, a single correct word would count as a perfect translation. " + FORMULA,
    ),
    Mistake(
        id="translate.tokens-joined",
        module="seq2seq",
        old="Counter(tuple(tokens[start : start + n])",
        new='Counter(" ".join(tokens[start : start + n])',
        looks_like="Your n-grams are strings, but tokens may be numbers.",
        read_again="The type annotation says what a token may be: anything that can be a dictionary key.",
        seen_by="hidden",
    ),
    Mistake(
        id="translate.penalty-for-long-ones",
        module="seq2seq",
        old=PENALTY,
        new="bleu = math.exp(min(0.0, 1 - len(candidate) / len(reference)))",
        looks_like="Your BLEU score penalises translations that are too long, as if the two lengths were swapped.",
        read_again="Extra words already lower the precisions. " + FORMULA,
    ),
    Mistake(
        id="translate.reward-for-long-ones",
        module="seq2seq",
        old=PENALTY,
        new="bleu = math.exp(1 - len(reference) / len(candidate))",
        looks_like="Your BLEU score rewards translations that are longer than the reference.",
        read_again="The factor is at most 1: find the part of the formula that limits it. " + FORMULA,
    ),
    Mistake(
        id="translate.equal-weights",
        module="seq2seq",
        old=PRECISION,
        new="bleu *= (shared.total() / (len(candidate) - n + 1)) ** (1 / min(k, len(candidate)))",
        looks_like="Your precisions have equal weights, as in the usual definition of BLEU.",
        read_again="Here the weights halve from one n to the next. " + FORMULA,
    ),
    Mistake(
        id="translate.weights-missing",
        module="seq2seq",
        old=PRECISION,
        new=PRECISION.replace(" ** 0.5**n", ""),
        looks_like="Your precisions are multiplied without their exponents.",
        read_again=FORMULA,
    ),
    Mistake(
        id="translate.weights-one-late",
        module="seq2seq",
        old=PRECISION,
        new=PRECISION.replace("0.5**n", "0.5 ** (n - 1)"),
        looks_like="Your exponents start with 1 instead of a half.",
        read_again="The first exponent is a half, the second a quarter. " + FORMULA,
    ),
    Mistake(
        id="translate.added-up",
        module="seq2seq",
        old=PRECISION,
        new="bleu += (shared.total() / (len(candidate) - n + 1)) * 0.5**n - (n == 1) * bleu",
        looks_like="You add the precisions instead of multiplying them.",
        read_again="A translation without a single correct word pair must score 0 for k = 2. " + FORMULA,
    ),
    Mistake(
        id="translate.counted-as-in-the-reference",
        module="seq2seq",
        old=SHARED,
        new="own = ngrams(candidate, n)\n"
        "        shared = Counter({gram: count for gram, count in ngrams(reference, n).items() if gram in own})",
        looks_like="You count each n-gram as often as it occurs in the reference, even if it occurs less often in the "
        "translation.",
        read_again="Each n-gram of the translation is matched with one in the reference, which is then used up.",
    ),
    Mistake(
        id="translate.zero-left-out",
        module="seq2seq",
        old=PRECISION,
        new=f"{PRECISION} if shared else 1.0",
        looks_like="Your BLEU score skips every n for which no n-gram is shared, as if its precision were 1.",
        read_again="A translation without a single correct word pair must score 0 for k = 2. " + FORMULA,
    ),
    Mistake(
        id="translate.not-clipped",
        module="seq2seq",
        old=SHARED,
        new="shared = Counter({gram: count for gram, count in ngrams(candidate, n).items() "
        "if gram in ngrams(reference, n)})",
        looks_like="You count each n-gram as often as it occurs in the candidate.",
        read_again="Repeating a correct word must not help: the docstring says how many times an n-gram is counted.",
    ),
    Mistake(
        id="translate.counted-once",
        module="seq2seq",
        old=SHARED,
        new="shared = Counter(set(ngrams(candidate, n)) & set(ngrams(reference, n)))",
        looks_like="You count each n-gram once, even if both sentences contain it several times.",
        read_again="The docstring says how many times an n-gram is counted; a set does not store counts.",
    ),
    Mistake(
        id="translate.recall",
        module="seq2seq",
        old=PRECISION,
        new=PRECISION.replace("(len(candidate) - n + 1)", "max(1, len(reference) - n + 1)"),
        looks_like="Extra words in a translation cost nothing, as if you divided by the number of n-grams in the "
        "reference.",
        read_again="Dividing by the reference gives recall. Precision measures how much of the candidate is correct. "
        + FORMULA,
    ),
    Mistake(
        id="translate.divided-by-length",
        module="seq2seq",
        old=PRECISION,
        new=PRECISION.replace("(len(candidate) - n + 1)", "len(candidate)"),
        looks_like="You divide by the number of tokens for every n.",
        read_again="A sentence of four tokens has only three pairs. " + FORMULA,
    ),
    Mistake(
        id="translate.single-tokens-only",
        module="seq2seq",
        old=LENGTHS,
        new="for n in range(1, 2):",
        looks_like="Your BLEU score looks only at individual tokens.",
        read_again="The n-grams run from n = 1 up to and including k; without longer n-grams, word order would not "
        "matter.",
    ),
    Mistake(
        id="translate.k-left-out",
        module="seq2seq",
        old=LENGTHS,
        new="for n in range(1, min(k, len(candidate) + 1)):",
        looks_like="The lengths of your n-grams stop before k.",
        read_again="The last n is k itself. Is the end of a range included? " + FORMULA,
    ),
    Mistake(
        id="translate.longest-only",
        module="seq2seq",
        old=LENGTHS,
        new="for n in [min(k, len(candidate))]:",
        looks_like="Only the longest n-grams count in your BLEU score.",
        read_again="The n-grams run from n = 1 up to and including k. " + FORMULA,
    ),
    Mistake(
        id="translate.short-candidates-fail",
        module="seq2seq",
        old=LENGTHS,
        new="for n in range(1, k + 1):",
        looks_like="Your function fails for a candidate that has fewer tokens than k.",
        read_again="Such a candidate has no n-grams of length k, so you would divide by 0. " + SHORT,
    ),
    Mistake(
        id="translate.empty-candidates-fail",
        module="seq2seq",
        old=EMPTY,
        new="",
        looks_like="Your function fails for an empty candidate.",
        read_again="A model may end a sentence immediately. " + SHORT,
    ),
    Mistake(
        id="translate.percent",
        module="seq2seq",
        old="    return bleu\n",
        new="    return 100 * bleu\n",
        looks_like="Your function returns BLEU as a percentage.",
        read_again="The docstring gives the range of the result.",
    ),
)
