"""Hidden tests for stage 1: different sizes, vectors whose values hardly vary, gradients."""

import numpy as np

from autograder.grading.hidden_case import HiddenTestCase, Twins


class TestLayerNorm(HiddenTestCase):
    def test_layer_norm(self):
        """Different sizes and numbers of axes, vectors whose values hardly vary, gradients."""
        size = self.pick(3, 5, 8)
        norm = self.twins(lambda modules: modules.NEWNAME.LayerNorm(size))
        B, T = self.sizes(2)
        self.normalised(norm, self.random(B, size), "B size")
        self.normalised(norm, self.random(B, T, size), "B T size")
        self.normalised(norm, 1e-3 * self.random(B, T, size), "B T size")
        x = self.random(B, T, size)
        self.keeps_arguments(norm.student, {"x": x})
        self.same_gradients(norm, {"x": x}, self.random(*x.shape), "B T size")

    def normalised(self, norm: Twins, x: np.ndarray, axes: str) -> None:
        """Fail unless the student's layer norm and the reference give the same result for x."""
        self.same(lambda model: model(x), norm, "y", axes)
