"""Known mistakes in stage 2: all heads at once."""

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

SPLITTING = (
    "The docstring of the class says which features belong to which head, and which are queries, keys and values."
)
SHAPES = "Write down the shape of the scores, (B, H, T, T), above the shape of the mask. Which axis is missing?"

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "heads.view-without-transpose",
        "heads",
        SPLIT,
        "return y.reshape(B, self.num_heads, T, self.d_head)",
        "All heads at once: the shapes are right, but each head mixes several positions.",
        "A view does not move any numbers. The features of one position are next to each other in memory, so only the "
        "feature axis can be split into heads. Then move the head axis into place.",
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
        "When you compute all heads at once, you take the queries, keys and values of head 0 first, then those of head "
        "1, and so on.",
        SPLITTING,
    ),
    Mistake(
        "heads.order-k-q-v",
        "heads",
        PARTS,
        PARTS.replace("q, k, v", "k, q, v"),
        "All heads at once: the queries and keys are swapped, as if the first third were keys and the second third "
        "queries.",
        SPLITTING,
    ),
    Mistake(
        "heads.order-q-v-k",
        "heads",
        PARTS,
        PARTS.replace("q, k, v", "q, v, k"),
        "All heads at once: you use the second third as values and the last third as keys.",
        SPLITTING,
    ),
    Mistake(
        "heads.all-scale-d-model",
        "heads",
        SCORES,
        SCORES.replace("self.d_head", "d_model"),
        "All heads at once: you divide the scores by the square root of d_model instead of d_head.",
        "Each head uses only its own part of the features. See what AttentionHead divides by.",
    ),
    Mistake(
        "heads.all-scale-missing",
        "heads",
        SCORES,
        "q @ k.transpose(-2, -1)",
        "All heads at once: you do not scale the scores.",
        "The scale is the same as in a single head. See what AttentionHead divides by.",
    ),
    Mistake(
        "heads.all-scale-without-root",
        "heads",
        SCORES,
        SCORES.replace("math.sqrt(self.d_head)", "self.d_head"),
        "All heads at once: you divide the scores by d_head instead of its square root.",
        "The scale is the same as in a single head. See what AttentionHead divides by.",
    ),
    Mistake(
        "heads.mask-for-one-sequence",
        "heads",
        "mask.unsqueeze(1)",
        "mask.view(1, 1, T, T)",
        "All heads at once: a padding mask, or a mask that differs between sequences, does not fit the scores.",
        "The first axis of a mask has size 1 or B, the second 1 or T. With a single sequence you would not notice. "
        + SHAPES,
    ),
    Mistake(
        "heads.mask-axis-in-front",
        "heads",
        "mask.unsqueeze(1)",
        "mask.unsqueeze(0)",
        "All heads at once: the batch axis of the mask lines up with the head axis of the scores.",
        "Broadcasting adds missing axes at the front. " + SHAPES,
    ),
    Mistake(
        "heads.mask-of-other-sequence",
        "heads",
        "mask.unsqueeze(1)",
        "mask.expand(B, T, T).repeat(self.num_heads, 1, 1).view(B, self.num_heads, T, T)",
        "All heads at once: your heads use the masks of other sequences.",
        "If heads are folded into the batch, the copies of the masks must be in the same order: all heads of sequence "
        "0 come first. Is this the order you get by repeating a tensor?",
    ),
    Mistake(
        "heads.mask-not-optional",
        "heads",
        GUARD,
        GUARD.replace("mask is not None", "True"),
        "All heads at once: without a mask, the call raises an exception.",
        "The mask may be None: then no key is masked.",
    ),
    Mistake(
        "heads.all-mask-ignored",
        "heads",
        FILLED,
        "pass",
        "All heads at once: the mask has no effect on the result.",
        "Without a mask, every position sees the future and the padding.",
    ),
    Mistake(
        "heads.all-mask-inverted",
        "heads",
        "mask.unsqueeze(1)",
        "~mask.unsqueeze(1)",
        "All heads at once: the mask is inverted, so you attend only to masked keys.",
        "In the masks of this assignment, True means that a key is masked. See the top of the module.",
    ),
    Mistake(
        "heads.all-mask-minus-infinity",
        "heads",
        FILLED,
        FILLED.replace("torch.finfo(scores.dtype).min", "-math.inf"),
        "All heads at once: the result is NaN where a query may attend to nothing.",
        "If all scores of a row are minus infinity, the softmax divides 0 by 0. The docstring requires finite "
        "numbers: which value is low enough but finite?",
    ),
    Mistake(
        "heads.all-mask-after-softmax",
        "heads",
        f"{FILLED}\n        {WEIGHTS}",
        "pass\n        weights = torch.softmax(scores, dim=-1)\n        weights = self.attention_dropout("
        "weights if mask is None else weights.masked_fill(mask.unsqueeze(1), 0.0))",
        "All heads at once: the weights of a query do not add up to 1, as if you masked after the softmax.",
        "Masked keys must not take part in the softmax, so apply the mask before it.",
    ),
    Mistake(
        "heads.softmax-over-heads",
        "heads",
        WEIGHTS,
        WEIGHTS.replace("dim=-1", "dim=1"),
        "All heads at once: the softmax runs over the heads instead of the keys.",
        "The keys compete with each other; the heads do not. Write down the four axes of the scores.",
    ),
    Mistake(
        "heads.all-softmax-over-queries",
        "heads",
        WEIGHTS,
        WEIGHTS.replace("dim=-1", "dim=-2"),
        "All heads at once: the softmax runs over the queries instead of the keys.",
        "Every query distributes a total weight of 1 over the keys. Which axis is the key axis?",
    ),
    Mistake(
        "heads.merged-without-transpose",
        "heads",
        "heads.transpose(1, 2).contiguous().view(B, T, d_model)",
        "heads.reshape(B, T, d_model)",
        "All heads at once: you merge the heads without first moving the head axis after the position axis.",
        "A view does not move any numbers. Undo the two steps that split the heads, in reverse order.",
    ),
    Mistake(
        "heads.all-not-mixed",
        "heads",
        MERGED,
        MERGED.replace("self.W_o(merged)", "merged"),
        "All heads at once: you do not apply W_o to the merged heads.",
        "The docstring says what comes after merging.",
    ),
    Mistake(
        "heads.attention-dropout-missing",
        "heads",
        WEIGHTS,
        "weights = torch.softmax(scores, dim=-1)",
        "All heads at once: during training, you apply no dropout to the weights.",
        "The constructor creates two dropout modules, and the docstring says where each is applied.",
    ),
    Mistake(
        "heads.output-dropout-missing",
        "heads",
        MERGED,
        MERGED.replace("self.output_dropout(self.W_o(merged))", "self.W_o(merged)"),
        "All heads at once: during training, you apply no dropout after W_o.",
        "The constructor creates two dropout modules, and the docstring says where each is applied.",
    ),
    Mistake(
        "heads.all-detached",
        "heads",
        PARTS,
        "q, k, v = map(split_heads, self.W_qkv(x.detach()).split(d_model, dim=-1))",
        "Your result is right, but no gradient reaches the input, so earlier layers would never learn.",
        "Somewhere the computation leaves the autograd graph: through detach, the data attribute, NumPy, or Python "
        "numbers.",
        seen_by="hidden",
    ),
)
