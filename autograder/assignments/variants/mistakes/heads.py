"""Known mistakes of stage 2: one head, and a list of heads."""

from autograder.assignments.variants.mistakes import heads_efficient
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
PROJECTED = "q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)"
SCORES = "q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # (B, T, T)"
FILLED = "scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)\n        weights"
WEIGHTS = "weights = self.dropout(torch.softmax(scores, dim=-1))"
SUM = "return weights @ v  # (B, T, T)"
MERGED = "torch.cat([head(x, mask) for head in self.heads], dim=-1)"
MIXED = (
    "merged = torch.cat([head(x, mask) for head in self.heads], dim=-1)  # H times (B, T, d_head) -> (B, T, d_model)"
)

SCALING = "A dot product of two vectors of d_head numbers spreads like the root of d_head. See the docstring."
MASKING = "In a mask of this assignment True means that a key may not be attended to. See the top of the module."
MIXING = "The docstring of the method has the whole computation in one line."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "heads.scale-d-model",
        "heads",
        SCORES,
        SCORES.replace("q.size(-1)", "x.size(-1)"),
        "Your head divides the scores by the root of d_model instead of d_head.",
        "The vectors that are multiplied have d_head numbers each. " + SCALING,
    ),
    Mistake(
        "heads.scale-missing",
        "heads",
        SCORES,
        "q @ k.transpose(-2, -1)",
        "The scores of your head are not scaled.",
        "The longer the vectors, the more the softmax looks at one key only. " + SCALING,
    ),
    Mistake(
        "heads.scale-without-root",
        "heads",
        SCORES,
        "q @ k.transpose(-2, -1) / q.size(-1)",
        "Your head divides the scores by d_head instead of its root.",
        SCALING,
    ),
    Mistake(
        "heads.softmax-over-queries",
        "heads",
        WEIGHTS,
        WEIGHTS.replace("dim=-1", "dim=-2"),
        "Your head has the softmax over the queries instead of the keys.",
        "Every query distributes a weight of 1 over the keys. Ask yourself which axis of the scores belongs to the "
        "keys.",
    ),
    Mistake(
        "heads.mask-inverted",
        "heads",
        FILLED,
        FILLED.replace("(mask,", "(~mask,"),
        "Your head attends to what the mask forbids, and only to that.",
        MASKING,
    ),
    Mistake(
        "heads.mask-ignored",
        "heads",
        FILLED,
        "pass\n        weights",
        "The mask has no effect on the result of your head, as if masked scores were thrown away.",
        MASKING,
    ),
    Mistake(
        "heads.mask-minus-infinity",
        "heads",
        FILLED,
        FILLED.replace("torch.finfo(scores.dtype).min", "-math.inf"),
        "Your head gives NaN where a query may attend to nothing.",
        "The softmax of a row that is minus infinity everywhere divides 0 by 0. The docstring asks for finite numbers "
        "there: think of a value that is low enough and yet a number.",
    ),
    Mistake(
        "heads.mask-after-softmax",
        "heads",
        f"{FILLED} = self.dropout(torch.softmax(scores, dim=-1))",
        "pass\n        weights = torch.softmax(scores, dim=-1)\n        "
        "weights = self.dropout(weights if mask is None else weights.masked_fill(mask, 0.0))",
        "In your head the weights of a query do not add up to 1, as if some were set to 0 after the softmax.",
        "The softmax must not know of the forbidden keys, so the mask comes before it.",
    ),
    Mistake(
        "heads.mask-to-zero",
        "heads",
        FILLED,
        FILLED.replace("torch.finfo(scores.dtype).min", "0.0"),
        "Your head gives forbidden keys the score 0, with which they still get weight.",
        "The exponential of 0 is 1. Look for a score whose exponential is 0.",
    ),
    Mistake(
        "heads.mask-minus-ten",
        "heads",
        FILLED,
        FILLED.replace("torch.finfo(scores.dtype).min", "-10.0"),
        "Your head gives forbidden keys the score -10, with which they still get a little weight.",
        "The scores of allowed keys may be lower than that. Take the lowest number that the type has.",
    ),
    Mistake(
        "heads.mask-of-first-sequence",
        "heads",
        FILLED,
        FILLED.replace("(mask,", "(mask[:1],"),
        "Your head looks at padding, as if the mask of the first sequence counted for all of them.",
        "A mask may have an entry for each sequence: its first axis is 1 or B.",
    ),
    Mistake(
        "heads.mask-transposed",
        "heads",
        FILLED,
        FILLED.replace("(mask,", "(mask.transpose(-2, -1),"),
        "Your head turns the mask round: it forbids queries instead of keys.",
        "The scores have a row for each query and a column for each key, and so has the mask.",
    ),
    Mistake(
        "heads.keys-by-query-weights",
        "heads",
        PROJECTED,
        PROJECTED.replace("self.W_k(x)", "self.W_q(x)"),
        "Your head makes the keys with the weights of the queries.",
        "Compare the three names with the three linear maps, one by one.",
    ),
    Mistake(
        "heads.values-by-key-weights",
        "heads",
        PROJECTED,
        PROJECTED.replace("self.W_v(x)", "self.W_k(x)"),
        "Your head makes the values with the weights of the keys.",
        "Compare the three names with the three linear maps, one by one.",
    ),
    Mistake(
        "heads.queries-keys-exchanged",
        "heads",
        SCORES,
        "k @ q.transpose(-2, -1) / math.sqrt(q.size(-1))",
        "In your head the keys ask and the queries answer.",
        "A row of the scores belongs to one query, a column to one key.",
    ),
    Mistake(
        "heads.scale-after-softmax",
        "heads",
        f"{SCORES}\n",
        "q @ k.transpose(-2, -1)\n",
        "Your head does not scale the scores before the softmax.",
        SCALING,
        same_as=("heads.scale-missing",),
    ),
    Mistake(
        "heads.softmax-twice",
        "heads",
        WEIGHTS,
        "weights = self.dropout(torch.softmax(torch.softmax(scores, dim=-1), dim=-1))",
        "Your head has two softmaxes.",
        "A softmax of weights makes them nearly equal. One is enough.",
    ),
    Mistake(
        "heads.dropout-missing",
        "heads",
        WEIGHTS,
        "weights = torch.softmax(scores, dim=-1)",
        "In training, no dropout shows in the result of your head.",
        "The docstring says what dropout is applied to, and where.",
    ),
    Mistake(
        "heads.dropout-on-scores",
        "heads",
        WEIGHTS,
        "weights = torch.softmax(self.dropout(scores), dim=-1)",
        "Your head applies dropout to the scores instead of the weights.",
        "A score of 0 is no weight of 0. The docstring says where dropout stands.",
    ),
    Mistake(
        "heads.dropout-on-result",
        "heads",
        f"{WEIGHTS}\n        {SUM}",
        "weights = torch.softmax(scores, dim=-1)\n        return self.dropout(weights @ v)  # (B, T, T)",
        "Your head applies dropout to its result instead of the weights.",
        "Where a weight is dropped, the query does without that key. The docstring says where dropout stands.",
        random=True,
    ),
    Mistake(
        "heads.dropout-on-values",
        "heads",
        f"{WEIGHTS}\n        {SUM}",
        "weights = torch.softmax(scores, dim=-1)\n        return weights @ self.dropout(v)  # (B, T, T)",
        "Your head applies dropout to the values instead of the weights.",
        "Where a weight is dropped, the query does without that key. The docstring says where dropout stands.",
        random=True,
    ),
    Mistake(
        "heads.dropout-on-input",
        "heads",
        f"{PROJECTED}  # (B, T, d_model) -> (B, T, d_head) each",
        "x = self.dropout(x)\n        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)",
        "Your head applies dropout to its input as well as to the weights.",
        "The docstring says what dropout is applied to, and where.",
    ),
    Mistake(
        "heads.detached",
        "heads",
        WEIGHTS,
        "weights = self.dropout(torch.softmax(scores.detach(), dim=-1))",
        "Your result is right, but the queries and keys get no gradient, so they would never learn.",
        "Somewhere the computation leaves the graph of autograd: by detaching, by the attribute data, or on a way "
        "through NumPy or Python numbers.",
        seen_by="hidden",
    ),
    # The visible tests warn of it.
    Mistake(
        "heads.zeros-forbidden",
        "heads",
        FILLED,
        FILLED.replace(
            "scores.masked_fill(mask,", "scores * ~mask\n            scores = scores.masked_fill(scores == 0,"
        ),
        "In your head keys that are allowed, but have a score of exactly 0, count as forbidden.",
        "Whether a key is forbidden follows from the mask, never from its score: 0 is a score like any other. "
        + MASKING,
        seen_by="hidden",
    ),
    Mistake(
        "heads.dropout-always-on",
        "heads",
        WEIGHTS,
        "weights = torch.dropout(torch.softmax(scores, dim=-1), 0.1, True)",
        "Your result is random: two calls with the same input differ, as with an active dropout.",
        "The module that the constructor makes knows when to be active.",
        random=True,
    ),
    Mistake(
        "heads.list-not-mixed",
        "heads",
        f"{MIXED}\n        return self.output_dropout(self.W_o(merged))",
        f"return self.output_dropout({MERGED})",
        "Your list of heads puts its results side by side and does not mix them.",
        MIXING,
    ),
    Mistake(
        "heads.list-without-mask",
        "heads",
        MERGED,
        "torch.cat([head(x) for head in self.heads], dim=-1)",
        "Your list of heads does not hand the mask on.",
        "Each head masks its own scores, so each of them needs the mask.",
    ),
    Mistake(
        "heads.list-reversed",
        "heads",
        MERGED,
        "torch.cat([head(x, mask) for head in reversed(self.heads)], dim=-1)",
        "Your list of heads puts the last head first.",
        MIXING,
    ),
    Mistake(
        "heads.list-interleaved",
        "heads",
        MERGED,
        "torch.stack([head(x, mask) for head in self.heads], dim=-1).flatten(-2)",
        "Your list of heads lets the features of the heads take turns.",
        "All features of head 0 come first, then all of head 1. Stacking makes a new axis; look where it lies.",
    ),
    Mistake(
        "heads.list-along-positions",
        "heads",
        MERGED,
        "torch.cat([head(x, mask) for head in self.heads], dim=1)",
        "Your list of heads puts its results one after the other as positions, which does not fit W_o.",
        "Write down the shape of one result and the shape that W_o takes.",
    ),
    Mistake(
        "heads.list-first-head-only",
        "heads",
        MERGED,
        "torch.cat([self.heads[0](x, mask) for _ in self.heads], dim=-1)",
        "Your list of heads uses the first head for all places.",
        "Every head has weights of its own, so that it can look for something of its own.",
    ),
    Mistake(
        "heads.list-dropout-missing",
        "heads",
        f"{MIXED}\n        return self.output_dropout(self.W_o(merged))",
        f"return self.W_o({MERGED})",
        "In training, your list of heads shows the dropout of the heads, but none behind the mixing.",
        MIXING,
    ),
    *heads_efficient.MISTAKES,
)
