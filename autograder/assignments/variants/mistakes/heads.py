"""Known mistakes in stage 2: one head, and a list of heads."""

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

SCALING = (
    "The standard deviation of the dot product of two vectors of size d_head grows with the square root of "
    "d_head. See the docstring."
)
MASKING = "In the masks of this assignment, True means that a key is masked. See the top of the module."
MIXING = "The docstring of the method shows the whole computation in one line."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "heads.scale-d-model",
        "heads",
        SCORES,
        SCORES.replace("q.size(-1)", "x.size(-1)"),
        "Your attention head divides the scores by the square root of d_model instead of d_head.",
        "The vectors in the dot products have d_head elements each. " + SCALING,
    ),
    Mistake(
        "heads.scale-missing",
        "heads",
        SCORES,
        "q @ k.transpose(-2, -1)",
        "Your attention head does not scale the scores.",
        "The longer the vectors, the more the softmax concentrates on a single key. " + SCALING,
    ),
    Mistake(
        "heads.scale-without-root",
        "heads",
        SCORES,
        "q @ k.transpose(-2, -1) / q.size(-1)",
        "Your attention head divides the scores by d_head instead of its square root.",
        SCALING,
    ),
    Mistake(
        "heads.softmax-over-queries",
        "heads",
        WEIGHTS,
        WEIGHTS.replace("dim=-1", "dim=-2"),
        "Your attention head applies the softmax over the queries instead of the keys.",
        "Every query distributes a total weight of 1 over the keys. Which axis of the scores is the key axis?",
    ),
    Mistake(
        "heads.mask-inverted",
        "heads",
        FILLED,
        FILLED.replace("(mask,", "(~mask,"),
        "Your attention head attends only to masked keys: the mask is inverted.",
        MASKING,
    ),
    Mistake(
        "heads.mask-ignored",
        "heads",
        FILLED,
        "pass\n        weights",
        "The mask has no effect on the result of your attention head, as if you discarded the masked scores.",
        MASKING,
    ),
    Mistake(
        "heads.mask-minus-infinity",
        "heads",
        FILLED,
        FILLED.replace("torch.finfo(scores.dtype).min", "-math.inf"),
        "Your attention head returns NaN where a query may attend to nothing.",
        "If all scores of a row are minus infinity, the softmax divides 0 by 0. The docstring requires finite "
        "numbers: which value is low enough but finite?",
    ),
    Mistake(
        "heads.mask-after-softmax",
        "heads",
        f"{FILLED} = self.dropout(torch.softmax(scores, dim=-1))",
        "pass\n        weights = torch.softmax(scores, dim=-1)\n        "
        "weights = self.dropout(weights if mask is None else weights.masked_fill(mask, 0.0))",
        "In your attention head the weights of a query do not add up to 1, as if you masked after the softmax.",
        "Masked keys must not take part in the softmax, so apply the mask before it.",
    ),
    Mistake(
        "heads.mask-to-zero",
        "heads",
        FILLED,
        FILLED.replace("torch.finfo(scores.dtype).min", "0.0"),
        "Your attention head sets the scores of masked keys to 0, so they still get some weight.",
        "The exponential of 0 is 1. For which score is the exponential 0?",
    ),
    Mistake(
        "heads.mask-minus-ten",
        "heads",
        FILLED,
        FILLED.replace("torch.finfo(scores.dtype).min", "-10.0"),
        "Your attention head sets the scores of masked keys to -10, so they still get a little weight.",
        "The scores of allowed keys may be even lower. Use the lowest number of the dtype.",
    ),
    Mistake(
        "heads.mask-of-first-sequence",
        "heads",
        FILLED,
        FILLED.replace("(mask,", "(mask[:1],"),
        "Your attention head attends to padding, as if the mask of the first sequence applied to all sequences.",
        "A mask may differ from sequence to sequence: its first axis has size 1 or B.",
    ),
    Mistake(
        "heads.mask-transposed",
        "heads",
        FILLED,
        FILLED.replace("(mask,", "(mask.transpose(-2, -1),"),
        "Your attention head transposes the mask: it masks queries instead of keys.",
        "The scores have a row for each query and a column for each key, and so does the mask.",
    ),
    Mistake(
        "heads.keys-by-query-weights",
        "heads",
        PROJECTED,
        PROJECTED.replace("self.W_k(x)", "self.W_q(x)"),
        "Your attention head computes the keys with the weights for the queries.",
        "Compare the three names with the three linear maps, one by one.",
    ),
    Mistake(
        "heads.values-by-key-weights",
        "heads",
        PROJECTED,
        PROJECTED.replace("self.W_v(x)", "self.W_k(x)"),
        "Your attention head computes the values with the weights for the keys.",
        "Compare the three names with the three linear maps, one by one.",
    ),
    Mistake(
        "heads.queries-keys-exchanged",
        "heads",
        SCORES,
        "k @ q.transpose(-2, -1) / math.sqrt(q.size(-1))",
        "In your attention head, the queries and keys are swapped.",
        "A row of the scores belongs to one query, a column to one key.",
    ),
    Mistake(
        "heads.scale-after-softmax",
        "heads",
        f"{SCORES}\n",
        "q @ k.transpose(-2, -1)\n",
        "Your attention head does not scale the scores before the softmax.",
        SCALING,
        same_as=("heads.scale-missing",),
    ),
    Mistake(
        "heads.softmax-twice",
        "heads",
        WEIGHTS,
        "weights = self.dropout(torch.softmax(torch.softmax(scores, dim=-1), dim=-1))",
        "Your attention head applies two softmaxes.",
        "Applying a softmax to weights makes them nearly equal. One softmax is enough.",
    ),
    Mistake(
        "heads.dropout-missing",
        "heads",
        WEIGHTS,
        "weights = torch.softmax(scores, dim=-1)",
        "During training, your attention head applies no dropout.",
        "The docstring says what dropout is applied to, and where.",
    ),
    Mistake(
        "heads.dropout-on-scores",
        "heads",
        WEIGHTS,
        "weights = torch.softmax(self.dropout(scores), dim=-1)",
        "Your attention head applies dropout to the scores instead of the weights.",
        "A score of 0 does not lead to a weight of 0. The docstring says where dropout is applied.",
    ),
    Mistake(
        "heads.dropout-on-result",
        "heads",
        f"{WEIGHTS}\n        {SUM}",
        "weights = torch.softmax(scores, dim=-1)\n        return self.dropout(weights @ v)  # (B, T, T)",
        "Your attention head applies dropout to its result instead of the weights.",
        "If a weight is dropped, the query ignores that key. The docstring says where dropout is applied.",
        random=True,
    ),
    Mistake(
        "heads.dropout-on-values",
        "heads",
        f"{WEIGHTS}\n        {SUM}",
        "weights = torch.softmax(scores, dim=-1)\n        return weights @ self.dropout(v)  # (B, T, T)",
        "Your attention head applies dropout to the values instead of the weights.",
        "If a weight is dropped, the query ignores that key. The docstring says where dropout is applied.",
        random=True,
    ),
    Mistake(
        "heads.dropout-on-input",
        "heads",
        f"{PROJECTED}  # (B, T, d_model) -> (B, T, d_head) each",
        "x = self.dropout(x)\n        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)",
        "Your attention head applies dropout to its input as well as to the weights.",
        "The docstring says what dropout is applied to, and where.",
    ),
    Mistake(
        "heads.detached",
        "heads",
        WEIGHTS,
        "weights = self.dropout(torch.softmax(scores.detach(), dim=-1))",
        "Your result is right, but no gradient reaches the queries and keys, so their weights would never learn.",
        "Somewhere the computation leaves the autograd graph: through detach, the data attribute, NumPy, or Python "
        "numbers.",
        seen_by="hidden",
    ),
    # The visible tests warn of this.
    Mistake(
        "heads.zeros-forbidden",
        "heads",
        FILLED,
        FILLED.replace(
            "scores.masked_fill(mask,", "scores * ~mask\n            scores = scores.masked_fill(scores == 0,"
        ),
        "In your attention head, allowed keys with a score of exactly 0 are treated as if they were masked.",
        "Whether a key is masked depends on the mask, never on its score: 0 is a score like any other. " + MASKING,
        seen_by="hidden",
    ),
    Mistake(
        "heads.dropout-always-on",
        "heads",
        WEIGHTS,
        "weights = torch.dropout(torch.softmax(scores, dim=-1), 0.1, True)",
        "Your result is random: two calls with the same input differ, as if dropout were always active.",
        "The dropout module from the constructor knows when to be active.",
        random=True,
    ),
    Mistake(
        "heads.list-not-mixed",
        "heads",
        f"{MIXED}\n        return self.output_dropout(self.W_o(merged))",
        f"return self.output_dropout({MERGED})",
        "Your list of heads concatenates its results but does not mix them.",
        MIXING,
    ),
    Mistake(
        "heads.list-without-mask",
        "heads",
        MERGED,
        "torch.cat([head(x) for head in self.heads], dim=-1)",
        "Your list of heads does not pass the mask on.",
        "Each head masks its own scores, so each head needs the mask.",
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
        "Your list of heads interleaves the features of the heads.",
        "All features of head 0 come first, then all features of head 1. Stacking creates a new axis; check where it "
        "is.",
    ),
    Mistake(
        "heads.list-along-positions",
        "heads",
        MERGED,
        "torch.cat([head(x, mask) for head in self.heads], dim=1)",
        "Your list of heads concatenates its results along the positions, which does not fit W_o.",
        "Write down the shape of one result and the input shape of W_o.",
    ),
    Mistake(
        "heads.list-first-head-only",
        "heads",
        MERGED,
        "torch.cat([self.heads[0](x, mask) for _ in self.heads], dim=-1)",
        "Your list of heads uses the first head every time.",
        "Every head has its own weights, so that each can look for something different.",
    ),
    Mistake(
        "heads.list-dropout-missing",
        "heads",
        f"{MIXED}\n        return self.output_dropout(self.W_o(merged))",
        f"return self.W_o({MERGED})",
        "During training, your list of heads applies the dropout inside the heads, but none after W_o.",
        MIXING,
    ),
    *heads_efficient.MISTAKES,
)
