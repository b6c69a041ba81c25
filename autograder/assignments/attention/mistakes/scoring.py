"""Known mistakes of stage 2: the three scores, and what is done with the weights."""

from autograder.assignments.attention.mistakes import additive, masked_softmax
from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
REST = """
        self.attention_weights = masked_softmax(scores, valid_lens)
        return self.dropout(self.attention_weights) @ values"""
DOT = "scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.size(-1))  # (B, T_q, T_k)"
BILINEAR = "scores = queries @ self.M @ keys.transpose(1, 2) / math.sqrt(keys.size(-1))"

SCALING = "The docstring of the class says what the products are divided by."
KEPT = "The docstring of the class says which weights are kept, and as what."
DROPPING = "The docstring says what dropout acts on."


def _dot(
    name: str, old: str, new: str, looks_like: str, read_again: str, hidden: bool = False, random: bool = False
) -> Mistake:
    """A mistake in the dot product attention, in the lines that the three attentions share too."""
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
        "Your result equals dot product attention without scaling.",
        "The longer the vectors are, the larger their dot products become, and the softmax then looks at one key only. "
        + SCALING,
    ),
    _dot(
        "dot-scale-d",
        "math.sqrt(queries.size(-1))",
        "queries.size(-1)",
        "Your result equals dot product attention that is scaled by the size itself instead of its square root.",
        "The spread of a sum of independent terms grows with the square root of their number. " + SCALING,
    ),
    _dot(
        "dot-scale-multiplied",
        "/ math",
        "* math",
        "Your result equals attention whose dot products are multiplied by the root of the size.",
        "Scaling shall make the scores smaller. " + SCALING,
    ),
    _dot(
        "dot-scale-number-of-keys",
        "queries.size(-1)",
        "keys.size(1)",
        "Your result equals attention that is scaled by the square root of the number of keys.",
        "The length of one vector counts; how many keys there are does not matter. " + SCALING,
    ),
    _dot(
        "dot-scale-size-of-values",
        "queries.size(-1)",
        "values.size(-1)",
        "Your result equals attention that is scaled by the root of the size of the values.",
        "The products are those of queries and keys; the values may have any size. " + SCALING,
    ),
    _dot(
        "dot-keys-reshaped",
        "keys.transpose(1, 2)",
        "keys.reshape(keys.size(0), keys.size(2), -1)",
        "Your keys have the transposed shape, but are mixed up, as by a view or a reshape instead of a transposition.",
        "A reshape keeps the order of the numbers in memory, so parts of different keys get mixed.",
    ),
    _dot(
        "dot-keys-not-transposed",
        "keys.transpose(1, 2)",
        "keys",
        "The product of queries and keys does not fit: the keys are not transposed.",
        "Each score is the dot product of one query and one key. Write down the shapes of both factors and of the "
        "result that you want, (B, T_q, T_k).",
    ),
    _dot(
        "dot-lengths-not-passed-on",
        "masked_softmax(scores, valid_lens)",
        "masked_softmax(scores)",
        "Your dot product attention does not depend on the lengths.",
        "The method gets the lengths and must hand them on to the softmax.",
    ),
    _dot(
        "dot-weights-not-kept",
        "self.attention_weights",
        "weights",
        "Your result is right, but the weights are not kept.",
        "The heatmaps read them. " + KEPT,
    ),
    _dot(
        "dot-scores-kept",
        REST,
        REST.replace("self.attention_weights = masked", "self.attention_weights, weights = scores, masked").replace(
            "dropout(self.attention_weights)", "dropout(weights)"
        ),
        "The scores are kept in place of the weights.",
        "Weights are what the softmax makes of the scores. " + KEPT,
    ),
    _dot(
        "dot-averages-keys",
        "@ values",
        "@ keys",
        "Your result is an average of the keys instead of the values.",
        "Keys decide how much, values say what. See the shape of the result in the docstring.",
    ),
    _dot(
        "dot-softmax-missing",
        "masked_softmax(scores, valid_lens)",
        "scores",
        "Your result averages the values with the scores themselves, as if there were no softmax.",
        "The weights of a query must add up to 1 and be positive.",
    ),
    _dot(
        "dot-softmax-twice",
        "masked_softmax(scores, valid_lens)",
        "masked_softmax(torch.softmax(scores, dim=-1), valid_lens)",
        "Your result equals attention with two softmaxes.",
        "A softmax of weights makes them nearly equal; the masked one is enough.",
    ),
    _dot(
        "dot-dropout-missing",
        "self.dropout(self.attention_weights)",
        "self.attention_weights",
        "In training, no dropout shows in your result.",
        DROPPING,
    ),
    _dot(
        "dot-dropout-on-the-result",
        "return self.dropout(self.attention_weights) @ values",
        "return self.dropout(self.attention_weights @ values)",
        "In training, your dropout acts on the result instead of the weights.",
        DROPPING,
        random=True,
    ),
    _dot(
        "dot-dropout-on-the-kept-weights",
        REST,
        REST.replace("masked_softmax(scores, valid_lens)", "self.dropout(masked_softmax(scores, valid_lens))").replace(
            "self.dropout(self.attention_weights)", "self.attention_weights"
        ),
        "In training, the weights that you keep are those after dropout.",
        KEPT + " " + DROPPING,
    ),
    _dot(
        "dot-dropout-on-the-values",
        "@ values",
        "@ self.dropout(values)",
        "In training, dropout acts twice in your result, as on the values as well as on the weights.",
        DROPPING,
    ),
    _dot(
        "dot-queries-changed",
        "queries @ keys.transpose(1, 2) / math.sqrt(queries.size(-1))",
        "queries.div_(math.sqrt(queries.size(-1))) @ keys.transpose(1, 2)",
        "Your result is right, but the tensor of the queries that was passed in is changed by the call.",
        "Operators such as /= and methods whose names end in an underscore write into their tensor, which belongs to "
        "the caller.",
        hidden=True,
    ),
    Mistake(
        id="scoring.bilinear-scale-missing",
        module="scoring",
        old=BILINEAR,
        new="scores = queries @ self.M @ keys.transpose(1, 2)",
        looks_like="Your bilinear attention is not scaled.",
        read_again="The products grow with the size of the keys, as without the matrix. " + SCALING,
    ),
    Mistake(
        id="scoring.bilinear-scale-size-of-queries",
        module="scoring",
        old=BILINEAR,
        new=BILINEAR.replace("keys.size(-1)", "queries.size(-1)"),
        looks_like="Your bilinear attention is scaled by the root of the size of the queries instead of the keys.",
        read_again="The matrix takes the queries into the space of the keys, where the products are taken. " + SCALING,
    ),
    Mistake(
        id="scoring.bilinear-matrix-transposed",
        module="scoring",
        old=BILINEAR,
        new=BILINEAR.replace("self.M", "self.M.T"),
        looks_like="Your matrix does not fit the queries: it is transposed.",
        read_again="Its shape is (query_size, key_size); write the three factors with their shapes side by side.",
    ),
    Mistake(
        id="scoring.bilinear-matrix-missing",
        module="scoring",
        old=BILINEAR,
        new=BILINEAR.replace(" @ self.M", ""),
        looks_like="Queries and keys of different sizes are multiplied without the matrix between them.",
        read_again="The matrix is there because the two sizes differ. See the formula in the docstring of the class.",
    ),
    Mistake(
        id="scoring.bilinear-lengths-not-passed-on",
        module="scoring",
        old=BILINEAR + REST,
        new=(BILINEAR + REST).replace("scores, valid_lens", "scores"),
        looks_like="Your bilinear attention does not depend on the lengths.",
        read_again="The method gets the lengths and must hand them on to the softmax.",
    ),
    Mistake(
        id="scoring.bilinear-dropout-missing",
        module="scoring",
        old=BILINEAR + REST,
        new=(BILINEAR + REST).replace("self.dropout(self.attention_weights)", "self.attention_weights"),
        looks_like="In training, no dropout shows in the result of your bilinear attention.",
        read_again=DROPPING,
    ),
    *additive.MISTAKES,
)
