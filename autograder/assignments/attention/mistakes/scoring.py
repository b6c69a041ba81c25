"""Known mistakes in stage 2: the three scoring functions, and the use of the weights."""

from autograder.assignments.attention.mistakes import additive, masked_softmax
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
REST = """
        self.attention_weights = masked_softmax(scores, valid_lens)
        return self.dropout(self.attention_weights) @ values"""
DOT = "scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.size(-1))  # (B, T_q, T_k)"
BILINEAR = "scores = queries @ self.M @ keys.transpose(1, 2) / math.sqrt(keys.size(-1))"

SCALING = "The docstring of the class says what the scores are divided by."
KEPT = "The docstring of the class says which weights to store, and in which attribute."
DROPPING = "The docstring says what dropout is applied to."


def _dot(
    name: str, old: str, new: str, looks_like: str, read_again: str, hidden: bool = False, random: bool = False
) -> Mistake:
    """A mistake in dot-product attention, or in the lines that the three attention modules share."""
    text = DOT + REST
    assert old in text
    return Mistake(
        f"scoring.{name}",
        "scoring",
        text,
        text.replace(old, new),
        looks_like,
        read_again,
        seen_by="hidden" if hidden else "visible",
        random=random,
    )


MISTAKES: tuple[Mistake, ...] = (
    *masked_softmax.MISTAKES,
    _dot(
        "dot-scale-missing",
        " / math.sqrt(queries.size(-1))",
        "",
        "Your result is that of dot-product attention without scaling.",
        "Longer vectors have larger dot products, and the softmax then puts almost all its weight on one "
        "key. " + SCALING,
    ),
    _dot(
        "dot-scale-d",
        "math.sqrt(queries.size(-1))",
        "queries.size(-1)",
        "Your result is that of dot-product attention scaled by the size itself instead of its square root.",
        "The standard deviation of a sum of independent terms grows with the square root of their number. " + SCALING,
    ),
    _dot(
        "dot-scale-multiplied",
        "/ math",
        "* math",
        "You multiply the dot products by the square root of the size.",
        "Scaling must make the scores smaller. " + SCALING,
    ),
    _dot(
        "dot-scale-number-of-keys",
        "queries.size(-1)",
        "keys.size(1)",
        "Your result is that of attention scaled by the square root of the number of keys.",
        "The size of one vector matters; the number of keys does not. " + SCALING,
    ),
    _dot(
        "dot-scale-size-of-values",
        "queries.size(-1)",
        "values.size(-1)",
        "Your result is that of attention scaled by the square root of the size of the values.",
        "The dot products are between queries and keys; the values may have any size. " + SCALING,
    ),
    _dot(
        "dot-keys-reshaped",
        "keys.transpose(1, 2)",
        "keys.reshape(keys.size(0), keys.size(2), -1)",
        "Your keys have the transposed shape but are mixed up, as if you reshaped them instead of transposing.",
        "A reshape keeps the order of the numbers in memory, so parts of different keys get mixed.",
    ),
    _dot(
        "dot-keys-not-transposed",
        "keys.transpose(1, 2)",
        "keys",
        "The shapes of queries and keys are incompatible: the keys are not transposed.",
        "Each score is the dot product of one query and one key. Write down the shapes of both factors and of the "
        "scores, (B, T_q, T_k).",
    ),
    _dot(
        "dot-lengths-not-passed-on",
        "masked_softmax(scores, valid_lens)",
        "masked_softmax(scores)",
        "Your dot-product attention ignores the lengths.",
        "The method receives the lengths and must pass them on to the softmax.",
    ),
    _dot(
        "dot-weights-not-kept",
        "self.attention_weights",
        "weights",
        "Your result is right, but you do not store the weights.",
        "The heatmaps need the weights. " + KEPT,
    ),
    _dot(
        "dot-scores-kept",
        REST,
        REST.replace("self.attention_weights = masked", "self.attention_weights, weights = scores, masked").replace(
            "dropout(self.attention_weights)", "dropout(weights)"
        ),
        "You store the scores instead of the weights.",
        "The weights are the result of the softmax. " + KEPT,
    ),
    _dot(
        "dot-averages-keys",
        "@ values",
        "@ keys",
        "Your result is an average of the keys instead of the values.",
        "The keys decide the weights; the values are averaged. See the shape of the result in the docstring.",
    ),
    _dot(
        "dot-softmax-missing",
        "masked_softmax(scores, valid_lens)",
        "scores",
        "You use the scores themselves as weights, as if there were no softmax.",
        "The weights of a query must be positive and add up to 1.",
    ),
    _dot(
        "dot-softmax-twice",
        "masked_softmax(scores, valid_lens)",
        "masked_softmax(torch.softmax(scores, dim=-1), valid_lens)",
        "Your result is that of attention with two softmaxes.",
        "Applying a softmax to weights makes them nearly equal. The masked softmax is enough.",
    ),
    _dot(
        "dot-dropout-missing",
        "self.dropout(self.attention_weights)",
        "self.attention_weights",
        "During training, your dot-product attention applies no dropout.",
        DROPPING,
    ),
    _dot(
        "dot-dropout-on-the-result",
        "return self.dropout(self.attention_weights) @ values",
        "return self.dropout(self.attention_weights @ values)",
        "During training, you apply dropout to the result instead of the weights.",
        DROPPING,
        random=True,
    ),
    _dot(
        "dot-dropout-on-the-kept-weights",
        REST,
        REST.replace("masked_softmax(scores, valid_lens)", "self.dropout(masked_softmax(scores, valid_lens))").replace(
            "self.dropout(self.attention_weights)", "self.attention_weights"
        ),
        "During training, you store the weights after dropout.",
        KEPT + " " + DROPPING,
    ),
    _dot(
        "dot-dropout-on-the-values",
        "@ values",
        "@ self.dropout(values)",
        "During training, dropout affects your result twice, as if you applied it to the values as well as to the "
        "weights.",
        DROPPING,
    ),
    _dot(
        "dot-queries-changed",
        "queries @ keys.transpose(1, 2) / math.sqrt(queries.size(-1))",
        "queries.div_(math.sqrt(queries.size(-1))) @ keys.transpose(1, 2)",
        "Your result is right, but the call changes the queries that were passed in.",
        "Operators such as /= and methods whose names end in an underscore change the caller's tensor.",
        hidden=True,
    ),
    Mistake(
        id="scoring.bilinear-scale-missing",
        module="scoring",
        old=BILINEAR,
        new="scores = queries @ self.M @ keys.transpose(1, 2)",
        looks_like="Your bilinear attention is not scaled.",
        read_again="The products grow with the size of the keys, just as in dot-product attention. " + SCALING,
    ),
    Mistake(
        id="scoring.bilinear-scale-size-of-queries",
        module="scoring",
        old=BILINEAR,
        new=BILINEAR.replace("keys.size(-1)", "queries.size(-1)"),
        looks_like="You scale your bilinear attention by the square root of the query size instead of the key size.",
        read_again="The matrix maps the queries into the space of the keys, where the dot products are taken. "
        + SCALING,
    ),
    Mistake(
        id="scoring.bilinear-matrix-transposed",
        module="scoring",
        old=BILINEAR,
        new=BILINEAR.replace("self.M", "self.M.T"),
        looks_like="Your matrix is transposed, so its shape does not fit the queries.",
        read_again="The shape of the matrix is (query_size, key_size). Write down the shapes of the three factors "
        "side by side.",
    ),
    Mistake(
        id="scoring.bilinear-matrix-missing",
        module="scoring",
        old=BILINEAR,
        new=BILINEAR.replace(" @ self.M", ""),
        looks_like="You multiply queries and keys of different sizes without the matrix between them.",
        read_again="The matrix is there because the two sizes differ. See the formula in the docstring of the class.",
    ),
    Mistake(
        id="scoring.bilinear-lengths-not-passed-on",
        module="scoring",
        old=BILINEAR + REST,
        new=(BILINEAR + REST).replace("scores, valid_lens", "scores"),
        looks_like="Your bilinear attention ignores the lengths.",
        read_again="The method receives the lengths and must pass them on to the softmax.",
    ),
    Mistake(
        id="scoring.bilinear-dropout-missing",
        module="scoring",
        old=BILINEAR + REST,
        new=(BILINEAR + REST).replace("self.dropout(self.attention_weights)", "self.attention_weights"),
        looks_like="During training, your bilinear attention applies no dropout.",
        read_again=DROPPING,
    ),
    *additive.MISTAKES,
)
