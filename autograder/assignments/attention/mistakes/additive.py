"""Known mistakes in stage 2: additive attention."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
FEATURES = "features = torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None])"
SCORES = "scores = self.w_v(features).squeeze(-1)  # (B, T_q, T_k, 1) -> (B, T_q, T_k)"
REST = """
        self.attention_weights = masked_softmax(scores, valid_lens)
        return self.dropout(self.attention_weights) @ values"""

FORMULA = "The docstring of the class gives the formula."
BROADCASTING = "The docstring of the method gives the shapes of the two tensors that are added."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="scoring.additive-tanh-missing",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("torch.tanh", ""),
        looks_like="Your result is that of additive attention without the tanh.",
        read_again="Without the tanh, the query only adds a constant to all its scores. The softmax ignores this "
        "constant: all queries attend to the same keys. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-tanh-of-each",
        module="scoring",
        old=FEATURES,
        new="features = torch.tanh(self.W_q(queries))[:, :, None] + torch.tanh(self.W_k(keys))[:, None]",
        looks_like="Your weights depend only on the keys, as if the tanh were applied to query and key separately, "
        "before the sum.",
        read_again="The query then only adds a constant to all its scores. The softmax ignores this constant: all "
        "queries attend to the same keys. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-multiplied",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("] + ", "] * "),
        looks_like="Your additive attention multiplies query and key.",
        read_again="The name of the attention mechanism tells you which operation to use. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-subtracted",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("] + ", "] - "),
        looks_like="Your additive attention subtracts the key from the query.",
        read_again="The name of the attention mechanism tells you which operation to use. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-sigmoid",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("tanh", "sigmoid"),
        looks_like="Your additive attention uses a sigmoid instead of the tanh.",
        read_again=FORMULA,
    ),
    Mistake(
        id="scoring.additive-relu",
        module="scoring",
        old=FEATURES,
        new=FEATURES.replace("tanh", "relu"),
        looks_like="Your additive attention uses a ReLU instead of the tanh.",
        read_again=FORMULA,
    ),
    Mistake(
        id="scoring.additive-scaled",
        module="scoring",
        old=SCORES,
        new=SCORES.replace("squeeze(-1)", "squeeze(-1) / math.sqrt(features.size(-1))"),
        looks_like="Your additive attention divides the scores by the square root of the hidden size.",
        read_again="These scores are bounded by the learned vector, so they need no scaling. See the docstring of "
        "the method.",
    ),
    Mistake(
        id="scoring.additive-vector-missing",
        module="scoring",
        old=SCORES,
        new="scores = features.sum(dim=-1)",
        looks_like="Your additive scores are plain sums of the features: the learned vector is missing.",
        read_again="The vector assigns weights to the hidden units; it is one of the three linear maps. " + FORMULA,
    ),
    Mistake(
        id="scoring.additive-maps-exchanged",
        module="scoring",
        old=FEATURES,
        new="features = torch.tanh(self.W_k(queries)[:, :, None] + self.W_q(keys)[:, None])",
        looks_like="The two linear maps are swapped: the map for the keys is applied to the queries.",
        read_again="The two maps take inputs of different sizes. Compare their names with the tensors that you pass.",
    ),
    Mistake(
        id="scoring.additive-keys-meet-queries",
        module="scoring",
        old=FEATURES,
        new="features = torch.tanh(self.W_q(queries)[:, None] + self.W_k(keys)[:, :, None])",
        looks_like="Your scores have the keys in the rows and the queries in the columns.",
        read_again="The positions of the new axes decide whether queries or keys run along the rows. " + BROADCASTING,
    ),
    Mistake(
        id="scoring.additive-not-broadcast",
        module="scoring",
        old=FEATURES,
        new="features = torch.tanh(self.W_q(queries) + self.W_k(keys))",
        looks_like="You add queries and keys directly, so query i is only paired with key i.",
        read_again="Every query is paired with every key, so the sum needs one axis for the queries and one for the "
        "keys. " + BROADCASTING,
    ),
    Mistake(
        id="scoring.additive-lengths-not-passed-on",
        module="scoring",
        old=SCORES + REST,
        new=(SCORES + REST).replace("scores, valid_lens", "scores"),
        looks_like="Your additive attention ignores the lengths.",
        read_again="The method receives the lengths and must pass them on to the softmax.",
    ),
    Mistake(
        id="scoring.additive-weights-not-kept",
        module="scoring",
        old=SCORES + REST,
        new=(SCORES + REST).replace("self.attention_weights", "weights"),
        looks_like="Your additive attention is right, but it does not store its weights.",
        read_again="The next stage and the heatmaps need the weights. The docstring of the class names the attribute.",
    ),
    Mistake(
        id="scoring.additive-all-squeezed",
        module="scoring",
        old=SCORES,
        new="scores = self.w_v(features).squeeze()",
        looks_like="With a single sequence or query, an axis is missing, as if all axes of size 1 were removed.",
        read_again="A decoder passes one query at a time. Specify which axis to remove.",
    ),
    Mistake(
        id="scoring.additive-dropout-missing",
        module="scoring",
        old=SCORES + REST,
        new=(SCORES + REST).replace("self.dropout(self.attention_weights)", "self.attention_weights"),
        looks_like="During training, your additive attention applies no dropout.",
        read_again="The docstring says what dropout is applied to.",
    ),
)
