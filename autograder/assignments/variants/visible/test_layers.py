"""Stage 1: layer normalisation, GELU, feed-forward network."""

from typing import Any

from autograder.assignments.variants.visible.checks import GELU_LIMIT
from autograder.grading.graded_case import StageTestCase


class TestLayers(StageTestCase):
    def check_norm(self, case: str, size: int) -> None:
        norm = self.student.layers.LayerNorm(size)
        norm.load_state(self.stored(f"{case}_weights"))
        stored = self.stored(case)
        self.assert_tensor(norm(stored["x"]), stored["output"], "the output", "B T size")

    def test_layer_norm(self):
        """Normalise large and small vectors of 12 features, and vectors of a single feature."""
        with self.part("values"):
            self.check_norm("small", 12)
            self.check_norm("norm", 12)
        with self.part("single_feature"):
            self.check_norm("single", 1)
        norm, weights = self.student.layers.LayerNorm(12), self.stored("norm_weights")
        norm.load_state(weights)
        self.warn_of_side_effects(norm, {"x": self.stored("norm")["x"]}, weights=weights)

    def test_gelu(self):
        """GELU in its exact form."""
        stored = self.stored("gelu")
        actual = self.student.layers.gelu(stored["x"])
        self.assert_tensor(actual, stored["output"], "gelu(x)", "rows columns", at_most=GELU_LIMIT)
        self.warn_of_changes(self.student.layers.gelu, {"x": stored["x"]})

    def test_feed_forward(self):
        """The feed-forward network with random weights, d_model = 30 and d_ff = 44."""
        stored, weights = self.stored("feed_forward"), self.stored("feed_forward_weights")
        network = self.student.layers.FeedForward(30, 44, 0.1)
        network.load_state(weights)
        self.assert_tensor(network(stored["x"]), stored["output"], "the output", "B T d_model")

        def build(p: float) -> Any:
            return self.student.layers.FeedForward(30, 44, p)

        self.assert_dropout(build, weights, lambda network: network(stored["x"]), stored, "B T d_model")
        self.warn_of_side_effects(network, {"x": stored["x"]}, weights=weights)
