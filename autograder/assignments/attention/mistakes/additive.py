"""Known mistakes of stage 2: additive attention."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
FEATURES = "features = torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None])"
SCORES = "scores = self.w_v(features).squeeze(-1)  # (B, T_q, T_k, 1) -> (B, T_q, T_k)"
REST = """
        self.attention_weights = masked_softmax(scores, valid_lens)
        return self.dropout(self.attention_weights) @ values"""

FORMULA = "The docstring of the class has the formula."
BROADCASTING = "The docstring of the method gives the two shapes that are added, axis by axis."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="scoring.additive-tanh-missing",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("torch.tanh", ""),
        looks_like="Your result equals additive attention without the tanh.",
        read_again="Without it the score is a sum of one number of the query and one of the key, and the query's drops "
        "out of the softmax: all queries would look at the same keys. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-tanh-of-each",
        module="scoring",
        old=FEATURES,
        new="features = torch.tanh(self.W_q(queries))[:, :, None] + torch.tanh(self.W_k(keys))[:, None]",
        looks_like="Your weights depend on the keys alone, as with a tanh of query and key each, before the sum.",
        read_again="The query's part then drops out of the softmax, and all queries look at the same keys. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-multiplied",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("] + ", "] * "),
        looks_like="Your additive attention multiplies query and key.",
        read_again="The name says it. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-subtracted",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("] + ", "] - "),
        looks_like="Your additive attention subtracts the key from the query.",
        read_again="The name says it. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-sigmoid",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("tanh", "sigmoid"),
        looks_like="Your additive attention has a sigmoid instead of the tanh.",
        read_again=FORMULA,
    ),
    Mistake(
        id="scoring.additive-relu",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("tanh", "relu"),
        looks_like="Your additive attention has a ReLU instead of the tanh.",
        read_again=FORMULA,
    ),
    Mistake(
        id="scoring.additive-scaled",
        module="scoring",
        old=SCORES,
        new=SCORES.replace("squeeze(-1)", "squeeze(-1) / math.sqrt(features.size(-1))"),
        looks_like="Your result equals additive attention whose scores are divided by the root of the hidden size.",
        read_again="Here the scores are bounded by the learned vector, so there is nothing to scale. See the docstring "
        "of the method.",
    ),
    Mistake(
        id="scoring.additive-vector-missing",
        module="scoring",
        old=SCORES,
        new="scores = features.sum(dim=-1)",
        looks_like="Your additive scores are sums of the features: the learned vector is missing.",
        read_again="The vector weighs the hidden units; it is one of the three linear maps. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-maps-exchanged",
        module="scoring",
        old=FEATURES,
        new="features = torch.tanh(self.W_k(queries)[:, :, None] + self.W_q(keys)[:, None])",
        looks_like="The two linear maps are exchanged: the one of the keys gets the queries.",
        read_again="Each map takes vectors of another size. Compare their names with what you give them.",
    ),
    Mistake(
        id="scoring.additive-keys-meet-queries",
        module="scoring",
        old=FEATURES,
        new="features = torch.tanh(self.W_q(queries)[:, None] + self.W_k(keys)[:, :, None])",
        looks_like="Your scores have the keys in the rows and the queries in the columns.",
        read_again="The new axes decide which of the two runs along the rows. " + BROADCASTING,
    ),
    Mistake(
        id="scoring.additive-not-broadcast",
        module="scoring",
        old=FEATURES,
        new="features = torch.tanh(self.W_q(queries) + self.W_k(keys))",
        looks_like="Queries and keys are added as they stand, which does not make pairs of them.",
        read_again="Every query meets every key, so the sum needs an axis for each. " + BROADCASTING,
    ),
    Mistake(
        id="scoring.additive-lengths-not-passed-on",
        module="scoring",
        old=SCORES + REST,
        new=(SCORES + REST).replace("scores, valid_lens", "scores"),
        looks_like="Your additive attention does not depend on the lengths.",
        read_again="The method gets the lengths and must hand them on to the softmax.",
    ),
    Mistake(
        id="scoring.additive-weights-not-kept",
        module="scoring",
        old=SCORES + REST,
        new=(SCORES + REST).replace("self.attention_weights", "weights"),
        looks_like="Your additive attention is right, but its weights are not kept.",
        read_again="The next stage and the heatmaps read them. The docstring of the class says as what.",
    ),
    Mistake(
        id="scoring.additive-all-squeezed",
        module="scoring",
        old=SCORES,
        new="scores = self.w_v(features).squeeze()",
        looks_like="With a single sequence or query, an axis is missing, as if all axes of size 1 were removed.",
        read_again="A decoder asks with one query at a time. Say which axis shall go.",
    ),
    Mistake(
        id="scoring.additive-dropout-missing",
        module="scoring",
        old=SCORES + REST,
        new=(SCORES + REST).replace("self.dropout(self.attention_weights)", "self.attention_weights"),
        looks_like="In training, no dropout shows in the result of your additive attention.",
        read_again="The docstring says what dropout acts on.",
    ),
)
