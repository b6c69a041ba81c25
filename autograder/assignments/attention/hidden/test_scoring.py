"""Stage 2, hidden: lengths of all kinds, other sizes, gradients, and the place of dropout."""

from typing import Any

import numpy as np

from autograder.assignments.attention.hidden.case import FACTOR, AttentionTestCase
from autograder.grading.hidden_case import Twins
from autograder.sandbox.faults import StudentFault

X, WEIGHTS = ("the result", "B T_q d_v"), ("attention_weights", "B T_q T_k")


class TestScoring(AttentionTestCase):
    def all_lengths(self, B: int, T_q: int, T_k: int) -> list[np.ndarray]:
        """Lengths of both shapes, in two types of integers."""
        one, each = self.lengths(B, T_k), self.rng.integers(1, T_k + 1, size=(B, T_q))
        return [one, each, one.astype(np.int32)]

    def test_masked_softmax(self):
        """Other sizes, as many queries as sequences, low scores, other scores at forbidden keys, and the gradient."""
        softmax = self.function("scoring", "masked_softmax")
        T_q, T_k = self.sizes(2)
        for B, T in ((T_q, T_q), (T_k, T_q), (1, 1), (T_q, T_k)):
            # Scores near -40: a fill value that is not far lower shows.
            scores = 2 * self.random(B, T, T_k) - 40
            self.same(lambda function: function(scores), softmax, "weights", "B T_q T_k")  # noqa: B023
            for valid_lens in self.all_lengths(B, T, T_k):
                self.cut_off(softmax, scores, valid_lens)
        self.learns(softmax, {"scores": scores, "valid_lens": valid_lens}, [self.random(*scores.shape)])
        self.nothing_left(softmax, self.random(3, T_q, T_k))

    def cut_off(self, softmax: Twins, scores: np.ndarray, valid_lens: np.ndarray) -> None:
        """Fail unless the weights are right, and what stands at forbidden keys does not matter."""
        inputs = {"scores": scores, "valid_lens": valid_lens}
        weights = self.same(lambda function: function(**inputs), softmax, "weights", "B T_q T_k")
        lengths = valid_lens[:, None] if valid_lens.ndim == 1 else valid_lens
        forbidden = np.arange(scores.shape[-1]) >= lengths[..., None]
        louder = softmax.student(np.where(forbidden, scores + 1e4, scores), valid_lens)
        wrong = "forbidden keys have weight: other scores there change the weights"
        self.unchanged(louder, weights, wrong, "weights", "B T_q T_k")
        self.leaves(softmax.student, **inputs)

    def nothing_left(self, softmax: Twins, scores: np.ndarray) -> None:
        """Fail unless other queries are right where one has nothing to attend to; that one is not looked at."""
        valid_lens = self.rng.integers(1, scores.shape[-1] + 1, size=scores.shape[:2])
        valid_lens[1, 0] = 0
        some = (valid_lens > 0)[..., None]
        self.same(lambda function: function(scores, valid_lens), softmax, "weights", "B T_q T_k", some)

    def attend(self, build: Any, query_size: int, key_size: int) -> None:
        """Fail unless an attention is right in several sizes, learns, and has its dropout at the right place.

        Args:
            build: makes the attention of a student with a probability of dropout.
        """
        twins = self.twins(lambda modules: build(modules, 0.3))
        T_q, T_k = self.sizes(2)
        for B, T in ((T_q, T_q), (1, 1), (2, T_k)):
            inputs = {"queries": self.transposed(B, T, query_size), "keys": self.transposed(B, T_k, key_size)}
            inputs["values"] = self.random(B, T_k, self.pick(2, 5))
            exact = self.right_result(twins, inputs)
        learns = self.right_softmax_gradient(inputs)
        output = self.random(B, T, inputs["values"].shape[-1])
        self.learns(twins, inputs, [output], exact and learns)
        self.keeps_arguments(twins.student, inputs)
        self.dropped(build, inputs, exact)

    def right_result(self, twins: Twins, inputs: dict[str, np.ndarray]) -> bool:
        """Fail unless an attention is right without lengths and with them, and keeps its weights."""

        def weigh(model: Any) -> Any:
            return [model(**inputs), model.attribute("attention_weights")]

        right = self.right(weigh, twins.reference)
        scores, values = np.log(np.maximum(right[1], 1e-300)), inputs["values"]
        result = twins.student(**inputs, **self.without_lengths(scores))
        exact = self.assert_following(result, right[0], *X, lambda: self.averaged(scores, values))
        if exact:
            self.assert_tensor(twins.student.attribute("attention_weights"), right[1], *WEIGHTS)
        for valid_lens in self.all_lengths(*scores.shape):
            given = {**inputs, "valid_lens": valid_lens}
            expected = self.right(lambda model: model(**given), twins.reference)  # noqa: B023
            followed = self.assert_following(
                twins.student(**given),
                expected,
                *X,
                lambda: self.averaged(scores, values, valid_lens),  # noqa: B023
            )
            exact = exact and followed
        return exact

    def right_softmax_gradient(self, inputs: dict[str, np.ndarray]) -> bool:
        """Whether gradients flow through the student's `masked_softmax`, whose own test says so if they do not."""
        scores = self.random(len(inputs["queries"]), inputs["queries"].shape[1], inputs["keys"].shape[1])
        call = self.student.last_call
        try:
            gradient = self.student.scoring.masked_softmax.gradients([self.random(*scores.shape)], scores).inputs[0]
        except StudentFault:
            return False
        finally:
            self.student.last_call = call
        return gradient is not None and bool(np.any(gradient))

    def dropped(self, build: Any, inputs: dict[str, np.ndarray], exact: bool) -> None:
        """Fail unless dropout acts on the weights behind those that are kept, and on nothing else."""

        def weigh(model: Any) -> Any:
            return [model(**inputs), model.attribute("attention_weights")]

        # With this probability dropout draws no numbers that could differ.
        dropped = self.train(self.twins(lambda modules: build(modules, 1.0)))
        factor = self.twins(lambda modules: build(modules, 0.3)).with_dropout_as(FACTOR)
        for twins, name in ((dropped, "in training with a dropout of 1"), (factor, f"with {FACTOR} for dropout")):
            right = self.right(weigh, twins.reference)
            if exact:
                result, weights = weigh(twins.student)
                self.assert_tensor(result, right[0], f"the result {name}", X[1])
                self.assert_tensor(weights, right[1], f"attention_weights {name}", WEIGHTS[1])

    def test_dot_product_attention(self):
        """Other sizes, lengths of all kinds, gradients, dropout."""
        d = self.pick(3, 5, 6, 7, 10)
        self.attend(lambda modules, dropout: modules.scoring.DotProductAttention(dropout), d, d)

    def test_bilinear_attention(self):
        """Other sizes, lengths of all kinds, gradients, dropout."""
        q, k = self.sizes(2, low=5, high=11)
        self.attend(lambda modules, dropout: modules.scoring.BilinearAttention(q, k, dropout), q, k)

    def test_additive_attention(self):
        """Other sizes, lengths of all kinds, gradients, dropout."""
        q, k, h = self.sizes(3, low=5, high=11)
        self.attend(lambda modules, dropout: modules.scoring.AdditiveAttention(q, k, h, dropout), q, k)
