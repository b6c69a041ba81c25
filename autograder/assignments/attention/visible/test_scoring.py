"""Stage 2: scoring functions and masks computed from lengths."""

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.assignments.attention.attending import LARGE_LIMIT, WEIGHTS, AttendingTestCase, X, shifted_scores
from autograder.grading.graded_case import KEPT
from autograder.grading.side_effects import check_forgets, check_gradients


class TestScoring(AttendingTestCase):
    """Tests that use random queries, keys and values, with and without lengths."""

    def test_masked_softmax(self):
        """Compute the softmax over the allowed keys: no lengths, one length per sequence, or one length per query."""
        scores, softmax = self.stored("softmax")["scores"], self.student.scoring.masked_softmax
        for case in ("no_lengths", "of_sequences", "of_queries"):
            with self.part(case):
                stored = self.stored(f"softmax_{case}")
                weights = softmax(scores=scores, valid_lens=stored.get("valid_lens"))
                self.assert_tensor(weights, stored["weights"], "weights", WEIGHTS)
        lengths = self.stored("softmax_of_sequences")["valid_lens"]
        with self.part("nothing_allowed"):
            self.assert_form(softmax(scores, 0 * lengths), scores.shape, "weights with lengths of 0", WEIGHTS)
            with self.only_warn():
                one, right = np.concatenate([[0], lengths[1:]]), self.stored("softmax_of_sequences")["weights"][1:]
                self.assert_tensor(softmax(scores, one)[1:], right, "weights where another length is 0", WEIGHTS)
        allowed = np.arange(scores.shape[-1]) < lengths[:, None, None]
        with self.only_warn():  # a score of 0 is a score like any other
            even = np.broadcast_to(allowed / lengths[:, None, None], scores.shape)
            self.assert_tensor(softmax(0 * scores, lengths), even, "weights when all scores are 0", WEIGHTS)
        softmax_of = {"scores": scores, "valid_lens": lengths}
        with self.only_warn(), self.student.unnoted():
            check_forgets(self, softmax, softmax_of)
        with self.only_warn(), self.student.unnoted():
            check_gradients(self, softmax, softmax_of)
        with self.only_warn(), self.student.unnoted():  # the same number added to all scores of a query changes nothing
            shifted, right = shifted_scores(scores, allowed), self.stored("softmax_of_sequences")["weights"]
            title = "weights for scores near -50, 1000 and -1000"
            self.assert_tensor(softmax(shifted, lengths), right, title, WEIGHTS, limit=LARGE_LIMIT)
        with self.part("scores"):
            after = softmax.arguments_after(scores=scores, valid_lens=lengths)["scores"]
            self.checks += 1
            if not self.close(after, scores):
                self.argument_changed("scores")
        self.warn_of_changes(softmax, softmax_of, batch=False)

    def attend(self, case: str, build: Callable[[float], Any]) -> None:
        """Fail unless an attention module returns the stored tensors, with and without lengths, and in training mode.

        Args:
            build: creates the attention module with a given dropout probability.
        """
        stored, attention = self.stored(case), build(0.3)
        inputs: dict[str, np.ndarray] = {name: stored[name] for name in ("queries", "keys", "values")}
        weights = {} if case == "dot" else self.stored(f"{case}_weights")  # a dot product has no weights
        attention.load_state(weights)
        result = attention(**inputs)
        with self.part("result"):  # before any other call: a failed call is traced
            self.assert_tensor(result, stored["result"], "the result", X)
            trained = {"keeps": stored["result"] / (1 - KEPT), "drops": 0 * stored["result"]}
            self.assert_dropout(build, weights, lambda model: model(**inputs), trained, X)
            half = build(0.5)
            half.load_state(weights)
            self.drops_weights(half, inputs["queries"], inputs["keys"])
            single = build(0.3)
            single.load_state(weights)
            one = single(inputs["queries"][:1, :1], inputs["keys"][:1], inputs["values"][:1])
            self.assert_tensor(one, stored["result"][:1, :1], "the result for a single query of a single sequence", X)
        kept = attention.attribute("attention_weights")
        with self.part("lengths"):
            for lengths in ("of_sequences", "of_queries"):
                valid_lens, expected = (stored[f"{name}_{lengths}"] for name in ("valid_lens", "result"))
                actual = attention(**inputs, valid_lens=valid_lens)
                self.assert_cut(actual, expected, inputs["values"], valid_lens, kept, result)
        with self.part("kept_weights"):
            self.assert_kept(kept, stored["weights"], inputs["values"], result)
            training = build(KEPT)
            training.load_state(weights)
            training.train()
            result = training.deterministic_dropout()(**inputs)
            kept = training.attribute("attention_weights")  # after dropout they would be larger
            self.assert_kept(kept, stored["weights"], inputs["values"], result, 1 / (1 - KEPT))
        if self.warn_of_side_effects(attention, inputs, weights=weights):
            fresh = build(0.3)
            fresh.load_state(weights)
            with self.only_warn():
                self.forgets(attention, fresh, {**inputs, "keys": -inputs["keys"]}, stored["result"].shape)

    def forgets(self, used: Any, fresh: Any, inputs: dict[str, np.ndarray], shape: tuple[int, ...]) -> None:
        """Fail unless a module that has already been called returns and stores the same tensors as a new module."""
        right = fresh(**inputs)
        self.assert_form(right, shape, "the result", X)
        self.assert_tensor(used(**inputs), right, "the result of a second call, with different keys,", X)
        kept, right = (one.attribute("attention_weights") for one in (used, fresh))
        if isinstance(right, np.ndarray):
            self.assert_tensor(kept, right, "attention_weights of a second call, with different keys,", "B T_q T_k")

    def test_dot_product_attention(self):
        """Attend with scaled dot products, and store the weights."""
        self.attend("dot", lambda p: self.student.scoring.DotProductAttention(dropout=p))

    def test_bilinear_attention(self):
        """Attend with a matrix between queries and keys of different sizes, and store the weights."""
        self.attend("bilinear", lambda p: self.student.scoring.BilinearAttention(6, 3, dropout=p))

    def test_additive_attention(self):
        """Attend with a small network as the scoring function, and store the weights."""
        self.attend("additive", lambda p: self.student.scoring.AdditiveAttention(6, 3, 5, dropout=p))
