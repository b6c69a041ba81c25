"""Stage 2: one head, heads one by one, and all heads at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.assignments.variants.visible import cases as made
from autograder.assignments.variants.visible.checks import CheckingTestCase


class TestHeads(CheckingTestCase):
    """Tests of attention with random, sharp weights, d_model = 30 and 5 heads of 6 features."""

    def check(self, kind: str, build: Callable[[float], Any], axes: str) -> None:
        """Fail unless attention is correct without a mask, in both modes, and with masks of the three shapes.

        Args:
            build: creates the attention module with a given dropout probability.
        """
        attention, weights = build(0.1), self.stored(f"{kind}_weights")
        attention.load_state(weights)
        x, masks, outputs = self.stored("inputs")["x"], self.stored("masks"), self.stored(kind)
        with self.part("no_mask"):
            self.assert_tensor(attention(x), outputs["none"], "the output without a mask", axes)
            self.assert_dropout(build, weights, lambda model: model(x), outputs, axes)
            if kind != "simple":  # its heads are those of the previous test
                self.assert_drops_weights(build(0.5), weights, x, 1 if kind == "head" else made.HEADS)
        with self.part("masks"):
            for name in ("causal", "padding", "own"):
                title = f"the output with a mask of shape {SHAPES[name]}"
                self.assert_tensor(attention(x, masks[name]), outputs[name], title, axes)
        self.warn_of_side_effects(attention, {"x": x, "mask": masks["own"]}, weights=weights)
        with self.only_warn(), self.student.unnoted():  # the same number added to all scores of a query changes nothing
            for shift in made.SHIFTS:
                other = build(0.1)
                other.load_state({n: made.with_shifted_keys(n, values, shift) for n, values in weights.items()})
                title = f"the output with all keys larger by {shift:g}"
                self.assert_tensor(other(x, masks["padding"]), outputs["padding"], title, axes, limit=made.SHIFT_LIMIT)
        if kind == "simple":
            return
        with self.only_warn():  # a score of 0 is a score like any other
            even = build(0.1)
            even.load_state({name: made.without_queries(name, values) for name, values in weights.items()})
            output, right = even(x, masks["padding"]), self.stored(f"{kind}_even")["padding"]
            self.assert_tensor(output, right, "the output when all scores are 0", axes)
        with self.part("all_padding"):
            empty = np.array(masks["padding"])
            empty[1] = True
            output, title = attention(x, empty), "the output with a sequence that is all padding"
            self.assert_form(output, outputs["padding"].shape, title, axes)
            others = np.array([True, False, True])[:, None, None]
            self.assert_tensor(output, outputs["padding"], title, axes, where=others)

    def test_head(self):
        """One head: without a mask, with masks of all shapes, and with a sequence that is all padding."""
        self.check("head", lambda p: self.student.heads.AttentionHead(30, 6, p), "B T d_head")

    def test_heads_one_by_one(self):
        """A list of heads, concatenated and projected with W_o."""
        self.check("simple", lambda p: self.student.heads.MultiHeadAttentionSimple(30, 5, p), "B T d_model")

    def test_heads_at_once(self):
        """All heads from one linear map, with the same masks."""
        self.check("efficient", lambda p: self.student.heads.MultiHeadAttentionEfficient(30, 5, p), "B T d_model")


SHAPES = {"causal": "(1, T, T)", "padding": "(B, 1, T)", "own": "(B, T, T)"}
