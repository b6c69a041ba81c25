"""Hidden tests for stage 1: norms, GELU and feed-forward networks of other sizes, their gradients and their dropout."""

from typing import Any

import numpy as np

from autograder.assignments.variants.hidden.models import VariantsTestCase
from autograder.assignments.variants.visible.checks import GELU_LIMIT


class TestLayers(VariantsTestCase):
    def test_layer_norm(self):
        """Check any number of axes, nearly equal values far from 0, one feature, other values of eps, and gradients."""
        with self.part("values"):
            size, eps = self.pick(3, 8, 20), 10.0 ** -self.pick(2, 3)
            norm = self.twins(lambda modules: modules.layers.LayerNorm(size, eps))
            for shape in ((4, size), (2, 3, size), (2, 2, 3, size)):
                x = 0.1 * self.random(*shape) + 5
                self.gives(norm, "the output", " ".join("abc"[: len(shape) - 1]) + " size", x)
            x = self.transposed(2, 3, size)
            self.keeps_arguments(norm.student, {"x": x})
            self.same_gradients(norm, {"x": x}, self.random(*x.shape), "B T size")
            usual = self.twins(lambda modules: modules.layers.LayerNorm(size))
            self.same(lambda model: model(0.003 * x), usual, "the output with the usual eps", "B T size")
        with self.part("single_feature"):
            norm = self.twins(lambda modules: modules.layers.LayerNorm(1))
            x = self.random(3, 4, 1)
            self.same(lambda model: model(x), norm, "the output", "B T size")

    def test_gelu(self):
        """Check small and large numbers, in tensors with any number of axes."""
        for shape in ((40,), (3, 4, 2)):
            x = 3 * self.random(*shape)
            axes = " ".join("abc"[: len(shape)])
            self.same_result("layers.gelu", "gelu(x)", axes, x, at_most=GELU_LIMIT)
            self.keeps_arguments(self.student.layers.gelu, {"x": x})
        self.checks += 1
        far = self.student.layers.gelu(np.array([-200.0, 0.0, 200.0]))
        self.assert_tensor(far, np.array([0.0, 0.0, 200.0]), "gelu(x) of large numbers", "elements")

    def test_feed_forward(self):
        """Check networks of other sizes, their gradients, and where dropout is applied."""
        d_model, _, d_ff = self.layer_sizes()

        def build(modules: Any, p: float) -> Any:
            return modules.layers.FeedForward(d_model, d_ff, p)

        network = self.twins(lambda modules: build(modules, 0.3))
        x = self.transposed(2, 5, d_model)
        self.same(lambda model: model(x), network, "the output", "B T d_model")
        self.keeps_arguments(network.student, {"x": x})
        self.same_gradients(network, {"x": x}, self.random(*x.shape), "B T d_model")
        self.same_dropout(build, lambda model: model(x), "B T d_model")
