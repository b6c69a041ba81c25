"""Known mistakes of stage 2: the softmax with lengths."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
NONE = "    if valid_lens is None:\n        return torch.softmax(scores, dim=-1)\n"
ONE = "valid_lens = valid_lens[:, None]  # (B,) -> (B, 1): the same length for all queries"
FORBIDDEN = "forbidden = positions >= valid_lens[:, :, None]"
SOFTMAX = "return torch.softmax(scores.masked_fill(forbidden, torch.finfo(scores.dtype).min), dim=-1)"

LENGTHS = "The docstring says which keys a length of n allows; count them for n of 1."
SHAPES = "The docstring gives the two shapes that lengths may have. Write them below the shape of the scores."
LOWEST = (
    "Scores may be much lower than you expect, and a forbidden key must get no weight in any case. Think of the lowest "
    "number that the type of the scores can hold."
)

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="scoring.lengths-inverted",
        module="scoring",
        old=FORBIDDEN,
        new=FORBIDDEN.replace(">=", "<"),
        looks_like="Your weights stand at the forbidden keys: the lengths are read the other way round.",
        read_again="A mask that allows and a mask that forbids are easily exchanged. " + LENGTHS,
    ),
    Mistake(
        id="scoring.one-key-too-many",
        module="scoring",
        old=FORBIDDEN,
        new=FORBIDDEN.replace(">=", ">"),
        looks_like="Your weights reach one key further than the lengths allow.",
        read_again="Keys are counted from 0. " + LENGTHS,
    ),
    Mistake(
        id="scoring.one-key-too-few",
        module="scoring",
        old=FORBIDDEN,
        new=FORBIDDEN.replace("positions", "positions + 1"),
        looks_like="Your weights end one key before the lengths do.",
        read_again="Keys are counted from 0. " + LENGTHS,
    ),
    Mistake(
        id="scoring.lengths-ignored",
        module="scoring",
        old=SOFTMAX,
        new="return torch.softmax(scores + 0 * forbidden, dim=-1)",
        looks_like="Your weights with lengths are the same as those without.",
        read_again="Padding would be attended to like words. " + LENGTHS,
    ),
    Mistake(
        id="scoring.filled-with-zero",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("torch.finfo(scores.dtype).min", "0.0"),
        looks_like="Your forbidden keys have the score 0, which is a score like any other.",
        read_again="The softmax turns a score of 0 into a weight. " + LOWEST,
    ),
    Mistake(
        id="scoring.filled-with-minus-10",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("torch.finfo(scores.dtype).min", "-10.0"),
        looks_like="Your forbidden keys have the score -10, which is not low enough.",
        read_again=LOWEST,
    ),
    Mistake(
        id="scoring.filled-with-minus-35",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("torch.finfo(scores.dtype).min", "-35.0"),
        looks_like="Your forbidden keys have the score -35, which is not low enough.",
        read_again=LOWEST,
    ),
    Mistake(
        id="scoring.multiplied-before",
        module="scoring",
        old=SOFTMAX,
        new="return torch.softmax(scores * ~forbidden, dim=-1)",
        looks_like="Your forbidden scores are multiplied by 0 before the softmax, which makes them 0.",
        read_again="The softmax turns a score of 0 into a weight. " + LOWEST,
        same_as=("scoring.filled-with-zero",),
    ),
    Mistake(
        id="scoring.masked-after",
        module="scoring",
        old=SOFTMAX,
        new="return torch.softmax(scores, dim=-1).masked_fill(forbidden, 0)",
        looks_like="Your weights of allowed keys do not add up to 1, as if the others were removed after the softmax.",
        read_again="What is removed after the softmax has taken its share already. The keys that are left must share a "
        "weight of 1.",
    ),
    Mistake(
        id="scoring.softmax-over-queries",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("dim=-1", "dim=1"),
        looks_like="Your softmax runs over the queries instead of the keys.",
        read_again="Every query shares a weight of 1 among the keys. Ask yourself which axis of the scores is theirs.",
    ),
    Mistake(
        id="scoring.softmax-over-sequences",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("dim=-1", "dim=0"),
        looks_like="Your softmax runs over the sequences of the batch instead of the keys.",
        read_again="The sequences of a batch have nothing to do with each other. Ask yourself which axis is the keys'.",
    ),
    Mistake(
        id="scoring.without-lengths-over-queries",
        module="scoring",
        old=NONE,
        new=NONE.replace("dim=-1", "dim=1"),
        looks_like="Without lengths, your softmax runs over the queries instead of the keys.",
        read_again="Every query shares a weight of 1 among the keys, with lengths and without.",
    ),
    Mistake(
        id="scoring.none-not-handled",
        module="scoring",
        old=NONE,
        new="",
        looks_like="Your function fails when there are no lengths.",
        read_again="The lengths may be None, see the docstring: then every query may look at all keys.",
    ),
    Mistake(
        id="scoring.length-of-each-query-not-handled",
        module="scoring",
        old=f"if valid_lens.dim() == 1:\n        {ONE}",
        new=ONE,
        looks_like="Your function takes one length for each sequence only, not one for each query.",
        read_again=SHAPES,
    ),
    Mistake(
        id="scoring.length-of-each-sequence-not-handled",
        module="scoring",
        old=f"    if valid_lens.dim() == 1:\n        {ONE}\n",
        new="",
        looks_like="Your function takes one length for each query only, not one for each sequence.",
        read_again=SHAPES,
    ),
    Mistake(
        id="scoring.lengths-on-queries",
        module="scoring",
        old=ONE,
        new="valid_lens = valid_lens[None, :]",
        looks_like="Query 0 of every sequence gets the length of sequence 0, query 1 that of sequence 1, and so on.",
        read_again="A length belongs to all queries of its sequence. With as many queries as sequences the numbers fit "
        "by chance. " + SHAPES,
    ),
    Mistake(
        id="scoring.length-of-the-first-sequence",
        module="scoring",
        old=ONE,
        new="valid_lens = valid_lens[:1, None]",
        looks_like="All sequences get the length of the first one.",
        read_again="Sentences of a batch have lengths of their own. " + SHAPES,
    ),
    Mistake(
        id="scoring.length-of-the-first-query",
        module="scoring",
        old=FORBIDDEN,
        new="forbidden = positions >= valid_lens[:, :1, None]",
        looks_like="All queries of a sequence get the length of its first query.",
        read_again="In a decoder each position may look a step further than the one before it. " + SHAPES,
    ),
    Mistake(
        id="scoring.scores-changed",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("masked_fill", "masked_fill_"),
        looks_like="Your weights are right, but the scores that were passed in are changed by the call.",
        read_again="Methods whose names end in an underscore, and assignments to parts of a tensor, write into what "
        "belongs to the caller; a view or a reshape is the same memory.",
    ),
    Mistake(
        id="scoring.filled-with-minus-infinity",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("torch.finfo(scores.dtype).min", "-torch.inf"),
        looks_like="Your weights are not finite numbers where a length is 0.",
        read_again="A softmax of minus infinity everywhere divides 0 by 0, and such a number spreads through the whole "
        "model. There are large numbers that are finite.",
    ),
    # The visible tests warn of it.
    Mistake(
        id="scoring.softmax-detached",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("scores.masked", "scores.detach().masked"),
        looks_like="Your weights are right, but the scores get no gradient, so nothing in front of them would learn.",
        read_again="Somewhere the computation leaves the graph of autograd: by detaching, by the attribute data, or on "
        "a way through NumPy or Python numbers.",
        seen_by="hidden",
    ),
    # The visible tests warn of it.
    Mistake(
        id="scoring.zeros-forbidden",
        module="scoring",
        old=SOFTMAX,
        new="scores = scores * ~forbidden\n"
        "    return torch.softmax(scores.masked_fill(scores == 0, torch.finfo(scores.dtype).min), dim=-1)",
        looks_like="Allowed keys with a score of exactly 0 get weights as if they were forbidden.",
        read_again="Whether a key is forbidden follows from its place and the length, never from its score: 0 is a "
        "score like any other.",
        seen_by="hidden",
    ),
)
