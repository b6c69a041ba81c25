"""Hidden tests for stage 2: attention of many sizes, with masks of all shapes, its gradients and its dropout."""

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.assignments.variants.hidden.models import VariantsTestCase
from autograder.assignments.variants.visible.cases import SHIFT_LIMIT, SHIFTS, with_shifted_keys, without_queries
from autograder.grading.hidden_case import Twins

Build = Callable[[Any, float], Any]


class TestHeads(VariantsTestCase):
    def check(self, build: Build, d_model: int, H: int, width: int, axes: str, all_padding: bool = True) -> None:
        """Fail unless attention behaves as described in its docstring.

        Args:
            build: creates the attention module with a given dropout probability.
            H: the number of heads; a batch has as many sequences, so that a misplaced axis does not show in the
                shape.
            width: the number of features in the result.
        """
        attention = self.twins(lambda modules: build(modules, 0.3))
        (T,) = self.sizes(1)
        with self.part("no_mask"):
            for B, length in ((1, T), (H, T), (T, 1), (2, 2)):
                x = self.transposed(B, length, d_model)
                self.gives(attention, "the output without a mask", axes, x)
            self.keeps_arguments(attention.student, {"x": x})
            self.same_gradients(attention, {"x": x}, self.random(2, 2, width), "B T d_model")
            self.same_dropout(build, lambda model: model(x), axes)
            if all_padding:  # not for a list of heads
                half = self.twins(lambda modules: build(modules, 0.5))
                own = H if width == d_model else 1
                weights = self.weights(half.reference)
                self.assert_drops_weights(half.student, weights, self.random(H, T, d_model), own)
        with self.part("masks"):
            for B in (H, T, 1):
                x = self.random(B, T, d_model)
                for shape, mask in self.masks(B, T).items():
                    title = f"the output with a mask of shape {shape}"
                    self.gives(attention, title, axes, x, mask)
                    self.keeps_arguments(attention.student, {"x": x, "mask": mask})
            self.hides(attention, d_model, width, axes)
            self.large_scores(build, self.random(4, 9, d_model), self.masks(4, 9)["(B, 1, T)"], axes)
            self.scores_of_zero(build, self.random(H, T, d_model), self.masks(H, T)["(B, 1, T)"], axes)
            x = self.random(H, T, d_model)
            arguments = {"x": x, "mask": self.masks(H, T)["(B, T, T)"]}
            self.same_gradients(attention, arguments, self.random(H, T, width), "B T d_model")
            training = self.train(self.twins(lambda modules: build(modules, 0.0)))
            self.same(lambda model: model(**arguments), training, "the output in training mode, dropout 0,", axes)
        if not all_padding:
            return
        with self.part("all_padding"):
            x, mask = self.random(3, T, d_model), np.zeros((3, 1, T), dtype=bool)
            mask[0], mask[1, :, T // 2 :] = True, True
            self.nothing_left(attention, x, mask, axes)
            self.nothing_left(attention, x, np.repeat(mask, T, axis=1), axes)

    def scores_of_zero(self, build: Build, x: np.ndarray, mask: np.ndarray, axes: str) -> None:
        """Fail unless a score of 0 is treated like any other score; here all queries are 0."""
        attention = self.both(lambda modules: build(modules, 0.3))
        weights = self.weights(attention.reference)
        self.load(attention, {name: without_queries(name, values) for name, values in weights.items()})
        self.gives(attention, "the output when all scores are 0", axes, x, mask)

    def large_scores(self, build: Build, x: np.ndarray, mask: np.ndarray, axes: str) -> None:
        """Fail unless the output is correct for large positive and negative scores."""
        attention = self.both(lambda modules: build(modules, 0.3))
        weights = self.weights(attention.reference)
        for shift in SHIFTS:
            self.load(attention, {name: with_shifted_keys(name, values, shift) for name, values in weights.items()})
            title = f"the output with all keys larger by {shift:g}"
            self.same(lambda model: model(x, mask), attention, title, axes, limit=SHIFT_LIMIT)

    def hides(self, attention: Twins, d_model: int, width: int, axes: str) -> None:
        """Fail if masked keys affect the other positions, however large the masked values are."""
        T = 6
        x, mask = self.random(2, T, d_model), np.zeros((2, 1, T), dtype=bool)
        mask[:, :, 4:] = True
        louder = x.copy()
        louder[:, 4:] *= 300
        before, after = attention.student(x, mask), attention.student(louder, mask)
        self.assert_form(before, (2, T, width), "the output", axes)
        shown = np.arange(T)[None, :, None] < 4
        wrong = "masked keys have weight: changing them changes the output"
        self.unchanged(after, before, wrong, "the output", axes, np.broadcast_to(shown, before.shape))

    def nothing_left(self, attention: Twins, x: np.ndarray, mask: np.ndarray, axes: str) -> None:
        """Fail unless the output is finite for sequence 0, which is fully masked, and correct for the others."""
        title = "the output with a sequence that is all padding"
        others = np.array([False, True, True])[:, None, None]
        y = self.same(lambda model: model(x, mask), attention, title, axes, others)
        self.assert_form(y, y.shape, title, axes)

    def test_head(self):
        """Check heads of other sizes, masks of all shapes, large values at masked keys, gradients and dropout."""
        H, d_head = self.head_sizes()
        d_model = H * d_head
        self.check(lambda modules, p: modules.heads.AttentionHead(d_model, d_head, p), d_model, H, d_head, "B T d_head")

    def test_heads_one_by_one(self):
        """Check lists of heads of other sizes, and as many sequences as heads."""
        d_model, H, _ = self.layer_sizes()

        def build(modules: Any, p: float) -> Any:
            return modules.heads.MultiHeadAttentionSimple(d_model, H, p)

        self.check(build, d_model, H, d_model, "B T d_model", all_padding=False)

    def test_heads_at_once(self):
        """Check attention that computes all heads at once, also with a single head."""
        d_model, H, _ = self.layer_sizes()

        def build(modules: Any, p: float) -> Any:
            return modules.heads.MultiHeadAttentionEfficient(d_model, H, p)

        self.check(build, d_model, H, d_model, "B T d_model")
        single = self.twins(lambda modules: modules.heads.MultiHeadAttentionEfficient(d_model, 1, 0.1))
        x = self.random(2, 4, d_model)
        self.same(lambda model: model(x), single, "the output of a single head", "B T d_model")
