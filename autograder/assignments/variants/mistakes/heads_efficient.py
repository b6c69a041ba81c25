"""Known mistakes of stage 2: all heads at once."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
SPLIT = "return y.view(B, T, self.num_heads, self.d_head).transpose(1, 2)"
PARTS = "q, k, v = map(split_heads, self.W_qkv(x).split(d_model, dim=-1))"
SCORES = "q @ k.transpose(-2, -1) / math.sqrt(self.d_head)"
FILLED = "scores = scores.masked_fill(mask.unsqueeze(1), torch.finfo(scores.dtype).min)"
GUARD = "if mask is not None:\n            # (1 or B,"
WEIGHTS = "weights = self.attention_dropout(torch.softmax(scores, dim=-1))"
MERGED = """merged = heads.transpose(1, 2).contiguous().view(B, T, d_model)
        return self.output_dropout(self.W_o(merged))"""

SPLITTING = "The docstring of the class says which features belong to which head, and to what."
SHAPES = "Write down the shape of the scores, (B, H, T, T), above that of the mask, and see which axis is missing."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "heads.view-without-transpose",
        "heads",
        SPLIT,
        "return y.reshape(B, self.num_heads, T, self.d_head)",
        "All heads at once: the shapes are right, but each head holds pieces of several positions.",
        "A view gives the numbers new indices, but it never moves one. In memory the features of one position lie side "
        "by side, so the heads can be made from the features only, and are moved to their place afterwards.",
    ),
    Mistake(
        "heads.interleaved",
        "heads",
        SPLIT,
        "return y.view(B, T, self.d_head, self.num_heads).permute(0, 3, 1, 2)",
        "All heads at once: neighbouring features belong to different heads.",
        "The order of the two new axes decides which features make up a head. " + SPLITTING,
    ),
    Mistake(
        "heads.thirds-within-heads",
        "heads",
        PARTS,
        "q, k, v = self.W_qkv(x).view(B, T, self.num_heads, 3, self.d_head).permute(3, 0, 2, 1, 4)",
        "All heads at once: you take queries, keys and values of head 0 first, then those of head 1, and so on.",
        SPLITTING,
    ),
    Mistake(
        "heads.order-k-q-v",
        "heads",
        PARTS,
        PARTS.replace("q, k, v", "k, q, v"),
        "All heads at once: the keys ask and the queries answer, as if the first third were keys, the second queries.",
        SPLITTING,
    ),
    Mistake(
        "heads.order-q-v-k",
        "heads",
        PARTS,
        PARTS.replace("q, k, v", "q, v, k"),
        "All heads at once: you take the second third for the values and the last for the keys.",
        SPLITTING,
    ),
    Mistake(
        "heads.all-scale-d-model",
        "heads",
        SCORES,
        SCORES.replace("self.d_head", "d_model"),
        "All heads at once: the scores are divided by the root of d_model instead of d_head.",
        "Each head works on its own part of the features. See what `AttentionHead` divides by.",
    ),
    Mistake(
        "heads.all-scale-missing",
        "heads",
        SCORES,
        "q @ k.transpose(-2, -1)",
        "All heads at once: the scores are not scaled.",
        "The scale is that of a single head. See what `AttentionHead` divides by.",
    ),
    Mistake(
        "heads.all-scale-without-root",
        "heads",
        SCORES,
        SCORES.replace("math.sqrt(self.d_head)", "self.d_head"),
        "All heads at once: the scores are divided by d_head instead of its root.",
        "The scale is that of a single head. See what `AttentionHead` divides by.",
    ),
    Mistake(
        "heads.mask-for-one-sequence",
        "heads",
        "mask.unsqueeze(1)",
        "mask.view(1, 1, T, T)",
        "All heads at once: a mask of its own for each sequence does not fit, or a padding mask.",
        "The first axis of a mask is 1 or B, and the second is 1 or T. With a single sequence this does not show. "
        + SHAPES,
    ),
    Mistake(
        "heads.mask-axis-in-front",
        "heads",
        "mask.unsqueeze(1)",
        "mask.unsqueeze(0)",
        "All heads at once: the masks of the sequences are taken for masks of the heads.",
        "Missing axes are filled up in front, so without care the axis of the batch comes to lie where the heads are. "
        + SHAPES,
    ),
    Mistake(
        "heads.mask-of-other-sequence",
        "heads",
        "mask.unsqueeze(1)",
        "mask.expand(B, T, T).repeat(self.num_heads, 1, 1).view(B, self.num_heads, T, T)",
        "All heads at once: your result equals one whose heads use masks of other sequences.",
        "With heads folded into the batch, the copies of a mask have to lie in the order of the heads: all heads of "
        "sequence 0 come first. See what repeating a tensor does to the order of its rows, and what else there is.",
    ),
    Mistake(
        "heads.mask-not-optional",
        "heads",
        GUARD,
        GUARD.replace("mask is not None", "True"),
        "All heads at once: without a mask the call raises an exception.",
        "None is a mask too: it forbids nothing.",
    ),
    Mistake(
        "heads.all-mask-ignored",
        "heads",
        FILLED,
        "pass",
        "All heads at once: the mask has no effect on the result.",
        "Where no mask is applied every position sees the future, and padding.",
    ),
    Mistake(
        "heads.all-mask-inverted",
        "heads",
        "mask.unsqueeze(1)",
        "~mask.unsqueeze(1)",
        "All heads at once: you attend to what the mask forbids, and only to that.",
        "In a mask of this assignment True means that a key may not be attended to. See the top of the module.",
    ),
    Mistake(
        "heads.all-mask-minus-infinity",
        "heads",
        FILLED,
        FILLED.replace("torch.finfo(scores.dtype).min", "-math.inf"),
        "All heads at once: the result is NaN where a query may attend to nothing.",
        "The softmax of a row that is minus infinity everywhere divides 0 by 0. The docstring asks for finite numbers "
        "there: think of a value that is low enough and yet a number.",
    ),
    Mistake(
        "heads.all-mask-after-softmax",
        "heads",
        f"{FILLED}\n        {WEIGHTS}",
        "pass\n        weights = torch.softmax(scores, dim=-1)\n        weights = self.attention_dropout("
        "weights if mask is None else weights.masked_fill(mask.unsqueeze(1), 0.0))",
        "All heads at once: the weights of a query do not add up to 1, as if some were set to 0 after the softmax.",
        "The softmax must not know of the forbidden keys, so the mask comes before it.",
    ),
    Mistake(
        "heads.softmax-over-heads",
        "heads",
        WEIGHTS,
        WEIGHTS.replace("dim=-1", "dim=1"),
        "All heads at once: the softmax is over the heads instead of the keys.",
        "The heads do not compete with each other, the keys do. Write down the four axes of the scores.",
    ),
    Mistake(
        "heads.all-softmax-over-queries",
        "heads",
        WEIGHTS,
        WEIGHTS.replace("dim=-1", "dim=-2"),
        "All heads at once: the softmax is over the queries instead of the keys.",
        "Every query distributes a weight of 1 over the keys. Ask yourself which axis belongs to the keys.",
    ),
    Mistake(
        "heads.merged-without-transpose",
        "heads",
        "heads.transpose(1, 2).contiguous().view(B, T, d_model)",
        "heads.reshape(B, T, d_model)",
        "All heads at once: the heads are merged without moving their axis behind that of the positions first.",
        "A view never moves a number. Undo the two steps that made the heads, in the opposite order.",
    ),
    Mistake(
        "heads.all-not-mixed",
        "heads",
        MERGED,
        MERGED.replace("self.W_o(merged)", "merged"),
        "All heads at once: the merged heads are not mixed by W_o.",
        "The docstring says what comes after the merging.",
    ),
    Mistake(
        "heads.attention-dropout-missing",
        "heads",
        WEIGHTS,
        "weights = torch.softmax(scores, dim=-1)",
        "All heads at once: in training, no dropout shows on the weights.",
        "The constructor makes two dropouts, and the docstring says where each of them stands.",
    ),
    Mistake(
        "heads.output-dropout-missing",
        "heads",
        MERGED,
        MERGED.replace("self.output_dropout(self.W_o(merged))", "self.W_o(merged)"),
        "All heads at once: in training, no dropout shows behind W_o.",
        "The constructor makes two dropouts, and the docstring says where each of them stands.",
    ),
    Mistake(
        "heads.all-detached",
        "heads",
        PARTS,
        "q, k, v = map(split_heads, self.W_qkv(x.detach()).split(d_model, dim=-1))",
        "Your result is right, but no gradient reaches the input, so the layers below would never learn.",
        "Somewhere the computation leaves the graph of autograd: by detaching, by the attribute data, or on a way "
        "through NumPy or Python numbers.",
        seen_by="hidden",
    ),
)
