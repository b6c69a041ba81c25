"""Known mistakes in stage 1: multi-head attention."""

from autograder.assignments.transformer.mistakes import mha_masks
from autograder.assignments.transformer.mistakes.mha_masks import OUTPUT, SCORES
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
SPLIT = """x = x.contiguous().view(B, T, self.num_heads, self.d_k)  # (B, T, d_model) -> (B, T, H, d_k)
            return x.transpose(1, 2)  # (B, T, H, d_k) -> (B, H, T, d_k)"""
PROJECTIONS = "split_heads(self.W_q(Q)), split_heads(self.W_k(K)), split_heads(self.W_v(V))"
SCALE = "math.sqrt(self.d_k)"

SCALING = "Section 3.2.1 of the paper says what the dot products are divided by, and why."
SPLITTING = (
    "Section 3.2.2 of the paper describes the heads; the docstring of the class says which features each head takes."
)
PROJECTING = "Compare the three names in the signature with the three linear maps, one by one."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="mha.scale-d-model",
        module="mha",
        old=SCALE,
        new="math.sqrt(self.d_model)",
        looks_like="Your result is that of attention scaled by sqrt(d_model) instead of sqrt(d_k).",
        read_again="Each head uses only its own part of the features, so its dot products sum fewer than d_model "
        "terms. " + SCALING,
    ),
    Mistake(
        id="mha.scale-missing",
        module="mha",
        old=SCORES,
        new="query @ key.transpose(-2, -1)",
        looks_like="Your result is that of attention without scaling.",
        read_again="Longer vectors have larger dot products, and the softmax then puts almost all its weight on one "
        "key. " + SCALING,
    ),
    Mistake(
        id="mha.heads-not-transposed",
        module="mha",
        old="return x.transpose(1, 2)  #",
        new="return x  #",
        looks_like="Your queries, and perhaps your keys and values, have the position axis before the head axis.",
        read_again="The docstring lists the axes of the result in order. Attention multiplies the last two axes, "
        "which must be positions and features; the heads come before them.",
    ),
    Mistake(
        id="mha.view-without-transpose",
        module="mha",
        old=SPLIT,
        new="return x.contiguous().view(B, self.num_heads, T, self.d_k)",
        looks_like="Your queries, and perhaps your keys and values, have the right shape but mix positions, as if a "
        "view put the heads before the positions.",
        read_again="A view does not move any numbers. The features of one position are next to each other in memory, "
        "so only the feature axis can be split into heads. Then move the head axis into place.",
    ),
    *mha_masks.MISTAKES,
    Mistake(
        id="mha.softmax-over-queries",
        module="mha",
        old=OUTPUT,
        new="torch.softmax(scores, dim=-2) @ value",
        looks_like="Your result is that of attention with the softmax over the queries instead of the keys.",
        read_again="Every query distributes a total weight of 1 over the keys. Which axis of the scores is the key "
        "axis? See section 3.2.1 of the paper.",
    ),
    Mistake(
        id="mha.softmax-over-heads",
        module="mha",
        old=OUTPUT,
        new="torch.softmax(scores, dim=1) @ value",
        looks_like="Your result is that of attention with the softmax over the heads instead of the keys.",
        read_again="The keys compete with each other; the heads do not. Write down the four axes of the scores and see "
        "section 3.2.1 of the paper.",
    ),
    Mistake(
        id="mha.softmax-twice",
        module="mha",
        old=SCORES,
        new=f"torch.softmax({SCORES}, dim=-1)",
        looks_like="Your result is that of attention with two softmaxes, one before the masks and one after them.",
        read_again="Applying a softmax to weights makes them nearly equal. Figure 2 (left) of the paper has one "
        "softmax; see what comes before it.",
    ),
    Mistake(
        id="mha.query-input-for-all",
        module="mha",
        old=PROJECTIONS,
        new="split_heads(self.W_q(Q)), split_heads(self.W_k(Q)), split_heads(self.W_v(Q))",
        looks_like="Your keys, and perhaps your values, are computed from the input for the queries.",
        read_again="Only in self-attention are the inputs the same. In cross-attention the keys and values come from "
        "a different sequence. " + PROJECTING,
    ),
    Mistake(
        id="mha.values-by-W_q",
        module="mha",
        old="self.W_v(V)",
        new="self.W_q(V)",
        looks_like="Your values are projected with the weights for the queries.",
        read_again=PROJECTING,
    ),
    Mistake(
        id="mha.keys-by-W_q",
        module="mha",
        old="self.W_k(K)",
        new="self.W_q(K)",
        looks_like="Your keys are projected with the weights for the queries.",
        read_again=PROJECTING,
    ),
    Mistake(
        id="mha.W_q-for-all",
        module="mha",
        old=PROJECTIONS,
        new="split_heads(self.W_q(Q)), split_heads(self.W_q(K)), split_heads(self.W_q(V))",
        looks_like="Your keys and your values are projected with the weights for the queries.",
        read_again="Queries, keys and values each have their own projection. " + PROJECTING,
        same_as=("mha.keys-by-W_q",),
    ),
    Mistake(
        id="mha.keys-values-exchanged",
        module="mha",
        old=PROJECTIONS,
        new="split_heads(self.W_q(Q)), split_heads(self.W_v(K)), split_heads(self.W_k(V))",
        looks_like="Your keys are projected with the weights for the values, as if the two maps were swapped.",
        read_again=PROJECTING,
    ),
    Mistake(
        id="mha.projections-missing",
        module="mha",
        old=PROJECTIONS,
        new="split_heads(Q), split_heads(K), split_heads(V)",
        looks_like="Your queries, and perhaps your keys and values, are the inputs themselves, only split into heads.",
        read_again="Without a projection all heads would compare the raw inputs. Look up the linear maps in the "
        "constructor, and see section 3.2.2 of the paper.",
    ),
    Mistake(
        id="mha.heads-interleaved",
        module="mha",
        old=SPLIT,
        new="return x.contiguous().view(B, T, self.d_k, self.num_heads).permute(0, 3, 1, 2)",
        looks_like="Your heads are interleaved: neighbouring features belong to different heads.",
        read_again="The order of the two new axes decides which features make up a head. " + SPLITTING,
    ),
    Mistake(
        id="mha.scale-d-k",
        module="mha",
        old=SCALE,
        new="self.d_k",
        looks_like="Your result is that of attention scaled by d_k instead of its square root.",
        read_again="The standard deviation of a sum of independent terms grows with the square root of their "
        "number. " + SCALING,
    ),
    Mistake(
        id="mha.scale-multiplied",
        module="mha",
        old=SCORES,
        new=SCORES.replace("/", "*"),
        looks_like="Your result is that of attention whose dot products are multiplied by sqrt(d_k).",
        read_again="Scaling must make the scores smaller. " + SCALING,
    ),
    Mistake(
        id="mha.scale-number-of-keys",
        module="mha",
        old=SCALE,
        new="math.sqrt(key.size(-2))",
        looks_like="Your result is that of attention scaled by the square root of the number of keys.",
        read_again="The size d_k is the length of one key vector; the number of keys does not matter. " + SCALING,
    ),
    Mistake(
        id="mha.scale-number-of-queries",
        module="mha",
        old=SCALE,
        new="math.sqrt(query.size(-2))",
        looks_like="Your result is that of attention scaled by the square root of the number of queries.",
        read_again="The size d_k is the length of one query vector; the number of queries does not matter. " + SCALING,
    ),
    Mistake(
        id="mha.scale-after-softmax",
        module="mha",
        old=OUTPUT,
        new="torch.softmax(scores * math.sqrt(self.d_k), dim=-1) / math.sqrt(self.d_k) @ value",
        looks_like="Your result is that of attention scaled after the softmax instead of before it.",
        read_again="After the softmax the weights of a query add up to 1, and nothing may change that. See the "
        "formula in section 3.2.1 of the paper.",
    ),
    Mistake(
        id="mha.key-not-transposed",
        module="mha",
        old=SCORES,
        new="query @ key / math.sqrt(self.d_k)",
        looks_like="The shapes of queries and keys are incompatible: the keys are not transposed.",
        read_again="Each score is the dot product of one query and one key. Write down the shapes of both factors "
        "and of the scores, (B, H, T_q, T_k).",
    ),
    Mistake(
        id="mha.all-axes-of-key-reversed",
        module="mha",
        old=SCORES,
        new="query @ key.T / math.sqrt(self.d_k)",
        looks_like="The shapes of queries and keys are incompatible: all axes of the keys are reversed, not only the "
        "last two.",
        read_again="The attribute T of a tensor is meant for matrices: with four axes, it reverses their whole order, "
        "so the batch comes last. Only positions and features must be swapped.",
    ),
    Mistake(
        id="mha.key-reshaped",
        module="mha",
        old=SCORES,
        new="query @ key.reshape(*key.shape[:2], self.d_k, -1) / math.sqrt(self.d_k)",
        looks_like="Your result is that of attention in which the keys get their transposed shape from a view, not a "
        "transposition.",
        read_again="A view keeps the order of the numbers in memory, so parts of different keys get mixed. Only a "
        "transposition swaps two axes.",
    ),
    Mistake(
        id="mha.queries-keys-exchanged",
        module="mha",
        old=SCORES,
        new="key @ query.transpose(-2, -1) / math.sqrt(self.d_k)",
        looks_like="Your result is that of attention with queries and keys swapped.",
        read_again="A row of the scores belongs to one query, a column to one key. With fewer queries than keys, the "
        "shape would reveal the mistake.",
    ),
    Mistake(
        id="mha.sigmoid",
        module="mha",
        old=OUTPUT,
        new="torch.sigmoid(scores) @ value",
        looks_like="Your result is that of attention with a sigmoid instead of the softmax.",
        read_again="The weights of one query must add up to 1, so the keys compete. See section 3.2.1 of the paper.",
    ),
    Mistake(
        id="mha.W_o-inside",
        module="mha",
        old=OUTPUT,
        new=OUTPUT + "\n        x = self.W_o(x.transpose(1, 2).flatten(2))"
        ".unflatten(2, (self.num_heads, self.d_k)).transpose(1, 2)",
        looks_like="Your result already has W_o applied to it.",
        read_again="The method forward applies W_o to your result, so it would be applied twice. See the Returns "
        "section of the docstring.",
    ),
    Mistake(
        id="mha.dropout-always-on",
        module="mha",
        old=OUTPUT,
        new="torch.dropout(torch.softmax(scores, dim=-1), 0.1, True) @ value",
        looks_like="Your result is random: two calls with the same inputs differ, as if dropout were active.",
        read_again="This module has no dropout. The paper applies dropout after the sub-layers (section 5.4); the "
        "encoder and the decoder do that.",
        random=True,
    ),
    # The visible tests only warn of this.
    Mistake(
        id="mha.dropout-on-weights",
        module="mha",
        old=OUTPUT,
        new="torch.dropout(torch.softmax(scores, dim=-1), 0.1, self.training) @ value",
        looks_like="During training, your attention is random, as if you applied dropout to the attention weights.",
        read_again="Many implementations do that, but this module has no dropout. The paper applies dropout after "
        "the sub-layers (section 5.4); the encoder and the decoder do that.",
        seen_by="hidden",
    ),
    # The visible tests only warn of this.
    Mistake(
        id="mha.softmax-overflows",
        module="mha",
        old=OUTPUT,
        new="scores.exp() / scores.exp().sum(dim=-1, keepdim=True) @ value",
        looks_like="Your softmax is right for small scores, but the exponential of a large score is infinite.",
        read_again="Subtracting the same number from all scores of a row does not change its softmax. If you "
        "subtract the largest score, no exponential is above 1; PyTorch's own softmax does this.",
        seen_by="hidden",
    ),
    # The visible tests only warn of this.
    Mistake(
        id="mha.detached",
        module="mha",
        old=OUTPUT,
        new="torch.softmax(scores.detach(), dim=-1) @ value",
        looks_like="Your result is right, but no gradient reaches the queries and keys, so they would never learn.",
        read_again="Somewhere the computation leaves the autograd graph: through detach, the data attribute, "
        "disabled gradients, NumPy, or Python numbers.",
        seen_by="hidden",
    ),
    # The visible tests only warn of this.
    Mistake(
        id="mha.query-changed-in-place",
        module="mha",
        old=SCORES,
        new="query.div_(math.sqrt(self.d_k)) @ key.transpose(-2, -1)",
        looks_like="Your result is right, but the call changes the queries that were passed in.",
        read_again="Operators such as /= and methods whose names end in an underscore change the caller's tensor.",
        seen_by="hidden",
    ),
)
