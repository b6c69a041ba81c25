"""Stage 2: scoring functions and masks made of lengths."""

from typing import Any

from autograder.assignments.attention.following import FollowingTestCase

X, WEIGHTS = ("the result", "B T_q d_v"), ("attention_weights", "B T_q T_k")


class TestScoring(FollowingTestCase):
    """Random queries, keys and values, with and without lengths."""

    def test_masked_softmax(self):
        """Give weight to the first keys only: no lengths, one for each sequence, one for each query."""
        scores = self.stored("softmax")["scores"]
        for case in ("all", "sequences", "queries"):
            stored = self.stored(f"softmax_{case}")
            inputs = {"scores": scores, "valid_lens": stored.get("valid_lens")}
            weights = self.student.scoring.masked_softmax(**inputs)
            self.assert_tensor(weights, stored["weights"], "weights", "B T_q T_k")
            after = self.student.scoring.masked_softmax.arguments_after(**inputs)["scores"]
            self.assert_tensor(after, scores, "scores after the call", "B T_q T_k")

    def attend(self, case: str, attention: Any) -> None:
        """Fail unless an attention gives the stored results, without lengths and with them."""
        stored = self.stored(case)
        inputs = {name: stored[name] for name in ("queries", "keys", "values")}
        scores, values = stored["scores"], stored["values"]
        result = attention(**inputs, **self.without_lengths(scores))
        if self.assert_following(result, stored["result"], *X, lambda: self.averaged(scores, values)):
            self.assert_tensor(attention.attribute("attention_weights"), stored["weights"], *WEIGHTS)
        for lengths in ("sequences", "queries"):
            given = scores, values, stored[f"valid_lens_{lengths}"]
            result = attention(**inputs, valid_lens=given[-1])
            expected = stored[f"result_{lengths}"]
            self.assert_following(result, expected, *X, lambda given=given: self.averaged(*given))  # type: ignore[misc]

    def loaded(self, case: str, attention: Any) -> Any:
        """An attention with the stored weights."""
        attention.load_state(self.stored(f"{case}_weights"))
        return attention

    def test_dot_product_attention(self):
        """Attend with scaled dot products, and keep the weights."""
        self.attend("dot", self.loaded("dot", self.student.scoring.DotProductAttention(dropout=0.3)))

    def test_bilinear_attention(self):
        """Attend with a matrix between queries and keys of different sizes, and keep the weights."""
        self.attend("bilinear", self.loaded("bilinear", self.student.scoring.BilinearAttention(6, 3, dropout=0.3)))

    def test_additive_attention(self):
        """Attend with a small network as the score, and keep the weights."""
        self.attend("additive", self.loaded("additive", self.student.scoring.AdditiveAttention(6, 3, 5, dropout=0.3)))
