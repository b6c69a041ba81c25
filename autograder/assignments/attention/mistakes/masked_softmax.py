"""Known mistakes in stage 2: the softmax with lengths."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
NONE = "    if valid_lens is None:\n        return torch.softmax(scores, dim=-1)\n"
ONE = "valid_lens = valid_lens[:, None]  # (B,) -> (B, 1): the same length for all queries"
FORBIDDEN = "forbidden = positions >= valid_lens[:, :, None]"
SOFTMAX = "return torch.softmax(scores.masked_fill(forbidden, torch.finfo(scores.dtype).min), dim=-1)"

LENGTHS = "The docstring says which keys a length of n allows. Which keys does n = 1 allow?"
SHAPES = "The docstring gives the two shapes that the lengths may have. Write them below the shape of the scores."
LOWEST = (
    "Scores may be much lower than you expect, but a masked key must never get any weight. What is the lowest number "
    "that the dtype of the scores can hold?"
)

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="scoring.lengths-inverted",
        module="scoring",
        old=FORBIDDEN,
        new=FORBIDDEN.replace(">=", "<"),
        looks_like="Your weights are on the masked keys: the mask is inverted.",
        read_again="A mask of allowed keys and a mask of forbidden keys are easily confused. " + LENGTHS,
    ),
    Mistake(
        id="scoring.one-key-too-many",
        module="scoring",
        old=FORBIDDEN,
        new=FORBIDDEN.replace(">=", ">"),
        looks_like="Your weights include one more key than the lengths allow.",
        read_again="Keys are counted from 0. " + LENGTHS,
    ),
    Mistake(
        id="scoring.one-key-too-few",
        module="scoring",
        old=FORBIDDEN,
        new=FORBIDDEN.replace("positions", "positions + 1"),
        looks_like="Your weights end one key short of the given lengths.",
        read_again="Keys are counted from 0. " + LENGTHS,
    ),
    Mistake(
        id="scoring.lengths-ignored",
        module="scoring",
        old=SOFTMAX,
        new="return torch.softmax(scores + 0 * forbidden, dim=-1)",
        looks_like="Your weights with lengths are the same as without lengths.",
        read_again="Without a mask, queries would attend to padding as if it were words. " + LENGTHS,
    ),
    Mistake(
        id="scoring.filled-with-zero",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("torch.finfo(scores.dtype).min", "0.0"),
        looks_like="You set the scores of masked keys to 0, but 0 is a score like any other.",
        read_again="The softmax turns a score of 0 into a weight. " + LOWEST,
    ),
    Mistake(
        id="scoring.filled-with-minus-10",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("torch.finfo(scores.dtype).min", "-10.0"),
        looks_like="You set the scores of masked keys to -10, which is not low enough.",
        read_again=LOWEST,
    ),
    Mistake(
        id="scoring.filled-with-minus-35",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("torch.finfo(scores.dtype).min", "-35.0"),
        looks_like="You set the scores of masked keys to -35, which is not low enough.",
        read_again=LOWEST,
    ),
    Mistake(
        id="scoring.multiplied-before",
        module="scoring",
        old=SOFTMAX,
        new="return torch.softmax(scores * ~forbidden, dim=-1)",
        looks_like="You multiply the masked scores by 0 before the softmax, which sets them to 0.",
        read_again="The softmax turns a score of 0 into a weight. " + LOWEST,
        same_as=("scoring.filled-with-zero",),
    ),
    Mistake(
        id="scoring.masked-after",
        module="scoring",
        old=SOFTMAX,
        new="return torch.softmax(scores, dim=-1).masked_fill(forbidden, 0)",
        looks_like="The weights of your allowed keys do not add up to 1, as if you masked after the softmax.",
        read_again="A key masked after the softmax has already taken its share. The remaining keys must share a "
        "total weight of 1.",
    ),
    Mistake(
        id="scoring.softmax-over-queries",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("dim=-1", "dim=1"),
        looks_like="Your softmax runs over the queries instead of the keys.",
        read_again="Every query distributes a total weight of 1 over the keys. Which axis of the scores is the key "
        "axis?",
    ),
    Mistake(
        id="scoring.softmax-over-sequences",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("dim=-1", "dim=0"),
        looks_like="Your softmax runs over the sequences of the batch instead of the keys.",
        read_again="The sequences of a batch are independent of each other. Which axis of the scores is the key axis?",
    ),
    Mistake(
        id="scoring.without-lengths-over-queries",
        module="scoring",
        old=NONE,
        new=NONE.replace("dim=-1", "dim=1"),
        looks_like="Without lengths, your softmax runs over the queries instead of the keys.",
        read_again="Every query distributes a total weight of 1 over the keys, with or without lengths.",
    ),
    Mistake(
        id="scoring.none-not-handled",
        module="scoring",
        old=NONE,
        new="",
        looks_like="Your function fails when there are no lengths.",
        read_again="The docstring says that the lengths may be None: then every query may attend to all keys.",
    ),
    Mistake(
        id="scoring.length-of-each-query-not-handled",
        module="scoring",
        old=f"if valid_lens.dim() == 1:\n        {ONE}",
        new=ONE,
        looks_like="Your function only accepts one length per sequence, not one per query.",
        read_again=SHAPES,
    ),
    Mistake(
        id="scoring.length-of-each-sequence-not-handled",
        module="scoring",
        old=f"    if valid_lens.dim() == 1:\n        {ONE}\n",
        new="",
        looks_like="Your function only accepts one length per query, not one per sequence.",
        read_again=SHAPES,
    ),
    Mistake(
        id="scoring.lengths-on-queries",
        module="scoring",
        old=ONE,
        new="valid_lens = valid_lens[None, :]",
        looks_like="Query 0 of every sequence gets the length of sequence 0, query 1 the length of sequence 1, and "
        "so on.",
        read_again="A length applies to all queries of its sequence. With as many queries as sequences, the shapes "
        "fit by chance. " + SHAPES,
    ),
    Mistake(
        id="scoring.length-of-the-first-sequence",
        module="scoring",
        old=ONE,
        new="valid_lens = valid_lens[:1, None]",
        looks_like="All sequences get the length of the first one.",
        read_again="Each sentence of a batch has its own length. " + SHAPES,
    ),
    Mistake(
        id="scoring.length-of-the-first-query",
        module="scoring",
        old=FORBIDDEN,
        new="forbidden = positions >= valid_lens[:, :1, None]",
        looks_like="All queries of a sequence get the length of its first query.",
        read_again="In a decoder, each position may attend to one more key than the position before it. " + SHAPES,
    ),
    Mistake(
        id="scoring.scores-changed",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("masked_fill", "masked_fill_"),
        looks_like="Your weights are right, but the call changes the scores that were passed in.",
        read_again="Methods whose names end in an underscore, and assignments to parts of a tensor, change the "
        "caller's tensor. A view or a reshape may share its memory.",
    ),
    Mistake(
        id="scoring.filled-with-minus-infinity",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("torch.finfo(scores.dtype).min", "-torch.inf"),
        looks_like="Where a length is 0, your weights are not finite numbers.",
        read_again="If all scores are minus infinity, the softmax divides 0 by 0, and the NaN spreads through the "
        "whole model. There are finite numbers that are low enough.",
    ),
    # The visible tests warn of this.
    Mistake(
        id="scoring.softmax-detached",
        module="scoring",
        old=SOFTMAX,
        new=SOFTMAX.replace("scores.masked", "scores.detach().masked"),
        looks_like="Your weights are right, but no gradient reaches the scores, so nothing before them would learn.",
        read_again="Somewhere the computation leaves the autograd graph: through detach, the data attribute, NumPy, "
        "or Python numbers.",
        seen_by="hidden",
    ),
    # The visible tests warn of this.
    Mistake(
        id="scoring.zeros-forbidden",
        module="scoring",
        old=SOFTMAX,
        new="scores = scores * ~forbidden\n"
        "    return torch.softmax(scores.masked_fill(scores == 0, torch.finfo(scores.dtype).min), dim=-1)",
        looks_like="Allowed keys with a score of exactly 0 are treated as if they were masked.",
        read_again="Whether a key is masked depends on its position and the length, never on its score: 0 is a score "
        "like any other.",
        seen_by="hidden",
    ),
)
