"""Stage 2: one head, heads one by one, and all heads at once."""

from typing import Any

import numpy as np

from autograder.grading.graded_case import StageTestCase


class TestHeads(StageTestCase):
    """Attention with random, sharp weights, d_model = 30 and 3 heads of 10 features."""

    def check(self, kind: str, attention: Any, axes: str) -> None:
        """Fail unless attention is right without a mask and with masks of the three shapes."""
        attention.load_state(self.stored(f"{kind}_weights"))
        x, masks, outputs = self.stored("inputs")["x"], self.stored("masks"), self.stored(kind)
        self.assert_tensor(attention(x), outputs["none"], "the output without a mask", axes)
        for name in ("causal", "padding", "own"):
            title = f"the output with a mask of shape {TITLES[name]}"
            self.assert_tensor(attention(x, masks[name]), outputs[name], title, axes)
        empty = np.array(masks["padding"])
        empty[1] = True
        self.finite_beside_nothing(attention(x, empty), outputs["padding"], axes)

    def finite_beside_nothing(self, output: Any, expected: np.ndarray, axes: str) -> None:
        """Fail unless the output is finite where sequence 1 is all padding, and right elsewhere."""
        name = "the output with a sequence that is all padding"
        self.assert_form(output, expected.shape, name, axes)
        self.assert_tensor(output, expected, name, axes, where=np.array([True, False, True])[:, None, None])

    def test_head(self):
        """One head: without a mask, with masks of all shapes, and with a sequence that is all padding."""
        self.check("head", self.student.heads.AttentionHead(30, 10, 0.1), "B T d_head")

    def test_heads_one_by_one(self):
        """A list of heads, side by side and mixed by W_o."""
        self.check("simple", self.student.heads.MultiHeadAttentionSimple(30, 3, 0.1), "B T d_model")

    def test_heads_at_once(self):
        """All heads from one linear map, with the same masks."""
        self.check("efficient", self.student.heads.MultiHeadAttentionEfficient(30, 3, 0.1), "B T d_model")


TITLES = {"causal": "(1, T, T)", "padding": "(B, 1, T)", "own": "(B, T, T)"}
