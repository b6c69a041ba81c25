"""Hidden tests for stage 2: all kinds of lengths, random sizes, gradients, and where dropout is applied."""

from typing import Any

import numpy as np

from autograder.assignments.attention.attending import LARGE_LIMIT, WEIGHTS, AttendingTestCase, X, shifted_scores
from autograder.assignments.attention.hidden.case import KEPT, AttentionTestCase
from autograder.grading.hidden_case import Twins


def weigh(inputs: dict[str, np.ndarray]) -> Any:
    """Return a function that returns an attention module's result and the weights that the module stores."""
    return lambda attention: [attention(**inputs), attention.attribute("attention_weights")]


class TestScoring(AttendingTestCase, AttentionTestCase):
    def each_length(self, B: int, T_q: int, T_k: int) -> np.ndarray:
        """A length for each query."""
        return self.rng.integers(1, T_k + 1, size=(B, T_q))

    def with_nothing(self, B: int, T_q: int, T_k: int) -> np.ndarray:
        """A length for each query; one length is 0."""
        lengths = self.each_length(B, T_q, T_k)
        lengths[1, 0] = 0
        return lengths

    def test_masked_softmax(self):
        """Check random sizes, as many queries as sequences, low scores, changes to masked scores, and the gradient."""
        softmax = self.function("scoring", "masked_softmax")
        T_q, T_k = self.sizes(2)
        # Scores near -40 reveal a fill value that is not far lower.
        scores = [2 * self.random(*sizes) - 40 for sizes in ((T_q, T_q, T_k), (T_k, T_q, T_k), (1, 1, T_k))]
        with self.part("no_lengths"):
            for given in scores:
                self.same(lambda function: function(given), softmax, "weights", WEIGHTS)  # noqa: B023
            self.learns(softmax, {"scores": given}, [self.random(*given.shape)])
        with self.part("of_sequences"):
            for given in scores:
                of_sequences = self.lengths(len(given), T_k)
                self.cut_off(softmax, given, of_sequences)
                self.cut_off(softmax, given, of_sequences.astype(np.int32))
                self.cut_off(softmax, 0 * given, of_sequences)  # a score of 0 is a score like any other
        with self.part("of_queries"):
            for given in scores:
                self.cut_off(softmax, given, self.each_length(*given.shape))
                self.cut_off(softmax, 0 * given, self.each_length(*given.shape))
            lengths = self.with_nothing(*scores[1].shape)
            some = (lengths > 0)[..., None]  # the queries that have keys
            self.same(lambda function: function(scores[1], lengths), softmax, "weights", WEIGHTS, some)
        with self.part("nothing_allowed"):
            nothing = self.with_nothing(*scores[1].shape)
            self.assert_form(softmax.student(scores[1], nothing), scores[1].shape, "weights with lengths of 0", WEIGHTS)
        with self.part("scores"):
            for lengths in (self.lengths(T_k, T_k), self.each_length(T_k, T_q, T_k)):
                inputs: dict[str, Any] = {"scores": scores[1], "valid_lens": lengths}
                self.leaves(softmax.student, **inputs)
                # Only check that there is a gradient: wrong weights already cost points above.
                gradient = softmax.student.gradients([self.random(*scores[1].shape)], **inputs).inputs[0]
                if gradient is None or not np.any(gradient):
                    self.same_gradient("scores", None, np.ones(1), "")

    def cut_off(self, softmax: Twins, scores: np.ndarray, valid_lens: np.ndarray) -> None:
        """Fail unless the weights are correct and forbidden keys have no effect."""
        weights = self.same(lambda function: function(scores, valid_lens), softmax, "weights", WEIGHTS)
        lengths = valid_lens[:, None] if valid_lens.ndim == 1 else valid_lens
        forbidden = np.arange(scores.shape[-1]) >= lengths[..., None]
        louder = softmax.student(np.where(forbidden, scores + 1e4, scores), valid_lens)
        wrong = "the weights change with the scores of masked keys"
        self.unchanged(louder, weights, wrong, "weights", WEIGHTS)
        shifted = shifted_scores(scores, ~forbidden)
        title = "weights for scores near -50, 1000 and -1000"
        self.same(lambda function: function(shifted, valid_lens), softmax, title, WEIGHTS, limit=LARGE_LIMIT)

    def attend(self, build: Any, query_size: int, key_size: int) -> None:
        """Fail unless an attention module is correct for several sizes, learns, and applies dropout correctly.

        Args:
            build: creates an attention module with a given dropout probability.
        """
        attention, kept, dropped, half = (
            self.twins(lambda modules: build(modules, p))  # noqa: B023
            for p in (KEPT, KEPT, 1.0, 0.5)
        )
        training = [self.in_training(kept), self.in_training(dropped)]
        T_q, T_k = self.sizes(2)
        cases = [
            {
                "queries": self.transposed(B, T, query_size),
                "keys": self.transposed(B, T_k, key_size),
                "values": self.random(B, T_k, self.pick(2, 5)),
            }
            for B, T in ((T_q, T_q), (1, 1), (2, T_k))
        ]
        with self.part("result"):
            for inputs in cases:
                result = self.same(lambda model: model(**inputs), attention, "the result", X)  # noqa: B023
            self.learns(attention, inputs, [self.random(*result.shape)])
            self.keeps_arguments(attention.student, inputs)
            for twins in training:
                self.same(lambda model: model(**inputs), twins, "the result with dropout", X)
            self.drops_weights(half.student, inputs["queries"], inputs["keys"])
            many = {name: np.tile(value, (8, 1, 1)) for name, value in inputs.items()}
            self.assert_chance(lambda: half.student(**many))
        with self.part("lengths"):
            for inputs in cases:
                self.lengths_cut_off(attention, inputs)
        with self.part("kept_weights"):
            for inputs in cases:
                self.kept(attention, inputs)
            # After dropout they would be larger.
            right = self.right(weigh(cases[1]), training[0].reference)
            result, weights = weigh(cases[1])(training[0].student)
            self.assert_kept(weights, right[1], cases[1]["values"], result, 1 / (1 - KEPT))

    def kept(self, attention: Twins, inputs: dict[str, np.ndarray]) -> None:
        """Fail unless an attention module stores its weights."""
        right = self.right(weigh(inputs), attention.reference)
        result, kept = weigh(inputs)(attention.student)
        self.assert_kept(kept, right[1], inputs["values"], result)

    def lengths_cut_off(self, attention: Twins, inputs: dict[str, np.ndarray]) -> None:
        """Fail unless an attention module respects both kinds of lengths."""
        result, kept = weigh(inputs)(attention.student)
        values = inputs["values"]
        sizes = len(values), inputs["queries"].shape[1], values.shape[1]
        for valid_lens in (self.lengths(sizes[0], sizes[2]), self.each_length(*sizes)):
            given = {**inputs, "valid_lens": valid_lens}
            expected = self.right(lambda model: model(**given), attention.reference)  # noqa: B023
            self.assert_cut(attention.student(**given), expected, values, valid_lens, kept, result)

    def test_dot_product_attention(self):
        """Check random sizes, all kinds of lengths, the gradients, and dropout."""
        d = self.pick(3, 5, 6, 7, 10)
        self.attend(lambda modules, dropout: modules.scoring.DotProductAttention(dropout), d, d)

    def test_bilinear_attention(self):
        """Check random sizes, all kinds of lengths, the gradients, and dropout."""
        q, k = self.sizes(2, low=5, high=11)
        self.attend(lambda modules, dropout: modules.scoring.BilinearAttention(q, k, dropout), q, k)

    def test_additive_attention(self):
        """Check random sizes, all kinds of lengths, the gradients, and dropout."""
        q, k, h = self.sizes(3, low=5, high=11)
        self.attend(lambda modules, dropout: modules.scoring.AdditiveAttention(q, k, h, dropout), q, k)
