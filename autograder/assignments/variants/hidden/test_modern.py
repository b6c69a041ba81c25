"""Hidden tests for stage 8: other sizes, other positions, other groups, random caches, and the gradients."""

from functools import partial
from typing import Any

import numpy as np

from autograder.assignments.variants.hidden.models import VariantsTestCase
from autograder.assignments.variants.visible.test_modern import BFLOAT16_LIMIT, FLOAT16_LIMIT
from autograder.grading.hidden_case import Twins


class TestModern(VariantsTestCase):
    def test_rms_norm(self):
        """Check random sizes, other values of eps, inputs far from 0, one feature, the gradients, and float16."""
        size, eps = self.pick(3, 8, 20), 10.0 ** -self.pick(2, 3)
        with self.part("values"):
            norm = self.twins(lambda modules: modules.modern.RMSNorm(size, eps))
            for shape in ((4, size), (2, 3, size), (2, 2, 3, size)):
                x = 0.2 * self.random(*shape) + 0.1
                self.gives(norm, "the output", " ".join("abc"[: len(shape) - 1]) + " size", x)
            x = self.transposed(2, 3, size)
            self.keeps_arguments(norm.student, {"x": x})
            self.same_gradients(norm, {"x": x}, self.random(*x.shape), "B T size")
            single = self.twins(lambda modules: modules.modern.RMSNorm(1))
            x = self.random(3, 2, 1)
            self.same(lambda model: model(x), single, "the output for one feature", "B T size")
        with self.part("half_precision"):
            weight, x = 1 + 0.2 * self.random(size), 300 + 30 * self.random(2, 3, size)
            self.same_in_half("rms_norm_in_float16", "the output in float16", "B T size", FLOAT16_LIMIT, weight, x)

    def same_in_half(self, driver: str, name: str, axes: str, limit: float, *arguments: np.ndarray) -> None:
        """Fail unless a driver's half-precision result is close to the reference's exact result."""
        right = self.right(lambda modules: getattr(modules.drivers, driver)(*arguments, exact=True), self.reference)
        actual = getattr(self.student.drivers, driver)(*arguments)
        self.assert_tensor(actual, right, name, axes, limit=limit)

    def test_rotate(self):
        """Check other sizes, positions, dot products that depend only on distance, bfloat16, and odd feature counts."""
        with self.part("angles"):
            for shape in ((5, 6), (3, 5, 2), (2, 3, 5, 10), (5, 5, 5, 4)):
                x, positions = self.random(*shape), self.rng.permutation(60)[:5]
                axes = " ".join(("a", "b", "T", "d_head")[-len(shape) :])
                self.same_result("modern.rotate", "the rotated x", axes, x, positions)
                self.keeps_arguments(self.student.modern.rotate, {"x": x, "positions": positions})
            self.checks += 1
            q, k, positions = self.random(1, 8), self.random(1, 8), np.array([3])
            products = [self.product(q, k, positions + shift, positions + shift + 4) for shift in (0, 17)]
            if abs(products[0] - products[1]) > 1e-6:
                self.wrong("the product of a query and a key changes when both move by 17 positions")
        with self.part("half_precision"):
            x, positions = self.random(3, 4, 5, 8), 1001 + 2 * self.rng.permutation(2000)[:5]
            name = "the rotated x in bfloat16"
            self.same_in_half("rotate_in_bfloat16", name, "B H T d_head", BFLOAT16_LIMIT, x, positions)
        with self.part("odd"):
            for features in (5, 9):
                x = self.random(2, 3, features)
                self.refuses(partial(self.student.modern.rotate, x, np.arange(3)), features)

    def product(self, q: np.ndarray, k: np.ndarray, at: np.ndarray, other: np.ndarray) -> float:
        """The dot product of a query and a key, each rotated according to its position."""
        turned = [self.student.modern.rotate(x, positions) for x, positions in ((q, at), (k, other))]
        for x in turned:
            self.assert_form(x, q.shape, "the rotated x", "T d_head")
        return float((turned[0] * turned[1]).sum())

    def test_swiglu(self):
        """Check random sizes, other numbers of axes, and the gradients."""
        d_model, _, d_ff = self.layer_sizes()
        network = self.twins(lambda modules: modules.modern.SwiGLU(d_model, d_ff))
        for shape in ((3, d_model), (2, 4, d_model)):
            x = self.random(*shape)
            self.gives(network, "the output", " ".join("ab"[: len(shape) - 1]) + " d_model", x)
        self.keeps_arguments(network.student, {"x": x})
        self.same_gradients(network, {"x": x}, self.random(*x.shape), "B T d_model")

    def attention(self) -> tuple[Twins, tuple[int, int, int]]:
        """Attention with at least two groups of at least two heads, together with H, G and d_head."""
        G, share, d_head = self.pick(2, 3), self.pick(2, 3), self.pick(6, 10)
        return self.grouped(G * share * d_head, G * share, G), (G * share, G, d_head)

    def grouped(self, *sizes: int) -> Twins:
        """Attention with d_model features, H heads and G groups."""
        return self.twins(lambda modules: modules.modern.GroupedQueryAttention(*sizes))

    def read(self, attention: Twins, x: np.ndarray, cache: Any = None) -> None:
        """Fail unless the output and cache are correct."""

        def call(model: Any) -> Any:
            return model(x, cache)

        y, after = self.items(call(attention.student), 2, "forward")
        right, expected = self.right(call, attention.reference)
        self.assert_tensor(y, right, "the output", "B T d_model")
        for kind, tensor, wanted in zip(("keys", "values"), self.items(after, 2, "the cache"), expected, strict=True):
            self.assert_tensor(tensor, wanted, f"the {kind} in the cache", "B G T d_head")

    def test_grouped_queries(self):
        """Check other numbers of heads and groups, one group, as many groups as heads, random caches, and gradients."""
        attention, (H, G, d_head) = self.attention()
        d_model = H * d_head
        with self.part("prompt"):
            for B, T in ((1, 1), (G, 5), (H, 4), (5, 5)):
                self.read(attention, self.transposed(B, T, d_model))
            for groups in (1, H):
                self.read(self.grouped(d_model, H, groups), self.random(2, 4, d_model))
            x = self.random(2, 4, d_model)
            self.keeps_arguments(attention.student, {"x": x})
        with self.part("step"):
            for B, T in ((1, 1), (G, 6), (4, 4)):
                cache = [self.random(B, G, T, d_head), self.random(B, G, T, d_head)]
                self.read(attention, self.random(B, 1, d_model), cache)
            self.keeps_arguments(attention.student, {"x": self.random(B, 1, d_model), "cache": cache})
