"""Hidden tests for stage 6: all bit widths, groups from one weight to a whole row, and very small weights."""

from typing import Any

import numpy as np

from autograder.assignments.llm.hidden.cases import LlmTestCase
from autograder.grading.hidden_case import Twins


class TestFewBits(LlmTestCase):
    def test_quantise(self):
        """Check other bit widths and groups, small and large weights, ties, and groups of zeros."""
        with self.part("rounding"):
            out, groups, group = self.sizes(3, 2, 6)
            for bits in (2, 3, self.pick(4, 5), self.pick(6, 7), 8):
                self.quantise(self.random(out, groups * group), bits, group)
            for group in (1, 6):
                self.quantise(self.random(out, 6), self.pick(3, 4), group)
            for size in (1e-3, 1e3):
                self.quantise(size * self.random(out, 6), 4, 3)
            self.quantise(-np.abs(self.random(out, 6)), 4, 3)
            arguments = {"W": self.random(out, 6), "bits": 4, "group": 3}
            self.keeps_arguments(self.student.quantise.quantise, arguments)
        with self.part("ties"):
            self.needs("rounding")
            bits = self.pick(3, 4, 5)
            top = 2 ** (bits - 1) - 1
            W = self.rng.integers(-top, top, size=(3, 8)) + 0.5  # halfway between two numbers, with a scale of 1
            W[:, ::4] = top * self.rng.choice((-1, 1), size=(3, 2))
            self.quantise(W, bits, 4)
        with self.part("zeros"):
            self.needs("rounding")
            W = self.random(3, 12)
            W[1], W[2, 4:8] = 0, 0
            self.quantise(W, self.pick(2, 4, 8), 4)

    def quantise(self, W: np.ndarray, bits: int, group: int) -> None:
        """Fail unless the numbers and scales are correct."""

        def call(modules: Any) -> Any:
            return modules.quantise.quantise(W, bits, group)

        numbers, scales = self.items(call(self.student), 2, "quantise")
        right, right_scales = self.right(call, self.reference)
        # Relative to the largest weight, since small weights differ little from 0.
        largest = np.abs(W).max()
        self.assert_form(scales, right_scales.shape, "scales", "out groups")
        self.assert_tensor(scales / largest, right_scales / largest, "scales / the largest weight", "out groups")
        self.assert_bytes(numbers, right, "numbers", "out in")

    def numbers(self, out: int, size: int) -> np.ndarray:
        """Random four-bit numbers, including both ends of the range."""
        numbers = self.rng.integers(-8, 8, size=(out, size)).astype(np.int8)
        numbers[0, :2] = self.rng.permutation([-8, 7])
        return numbers

    def test_dequantise(self):
        """Check groups of one weight, a few weights or a whole row, with eight-bit numbers."""
        out, size = self.pick(3, 4), 12
        for groups in (1, self.pick(2, 3), 4, 12):
            numbers = self.rng.integers(-127, 128, size=(out, size)).astype(np.int8)
            scales = self.rng.random((out, groups)) + 0.1
            call = lambda m, a=(numbers, scales): m.quantise.dequantise(*a)  # noqa: E731
            self.assert_tensor(call(self.student), self.right(call, self.reference), "the weights", "out in")
        self.keeps_arguments(self.student.quantise.dequantise, {"numbers": numbers, "scales": scales})

    def test_pack(self):
        """Check matrices of other sizes, a single pair, and all 16 values."""
        for shape in ((1, 2), (self.pick(3, 5), 8), (2, 16)):
            numbers = self.numbers(*shape)
            call = lambda m, numbers=numbers: m.quantise.pack(numbers)  # noqa: E731
            self.assert_bytes(call(self.student), self.right(call, self.reference), "packed", "out bytes")
        self.keeps_arguments(self.student.quantise.pack, {"numbers": numbers})

    def test_unpack(self):
        """Check all 256 byte values."""
        packed = self.rng.permutation(256).astype(np.uint8).reshape(self.pick(4, 8), -1)
        for given in (packed, packed[::-1].copy()):
            call = lambda m, given=given: m.quantise.unpack(given)  # noqa: E731
            self.assert_bytes(call(self.student), self.right(call, self.reference), "numbers", "out in")
        self.keeps_arguments(self.student.quantise.unpack, {"packed": packed})

    def weight(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Random bytes and scales."""
        if name == "packed":
            return self.rng.integers(256, size=shape).astype(np.uint8)
        return self.rng.random(shape) + 0.1

    def linear(self, *sizes: int) -> Twins:
        """A linear map with random bytes and scales."""
        return self.twins(lambda modules: modules.quantise.PackedLinear(*sizes))

    def apply(self, linear: Twins, x: np.ndarray) -> None:
        """Fail unless the linear map returns the correct result for x."""
        self.same(lambda model: model(x), linear, "y", " ".join([*"BT"[: x.ndim - 1], "out"]))

    def test_linear(self):
        """Check random sizes and other axes, as many outputs as inputs, and the gradient with respect to x."""
        for out, size, group in ((self.pick(3, 5), 8, self.pick(2, 4)), (8, 8, 8), (1, 6, 1)):
            linear = self.linear(size, out, group)
            for axes in ((), (2,), (2, 3)):
                x = self.random(*axes, size)
                self.apply(linear, x)
        self.same_gradients(linear, {"x": x}, self.random(2, 3, out), "B T in")
        self.keeps_arguments(linear.student, {"x": x})
