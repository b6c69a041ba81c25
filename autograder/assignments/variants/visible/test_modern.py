"""Stage 8: parts of today's models (extra credit)."""

from typing import Any

import numpy as np

from autograder.assignments.variants.visible.checks import CheckingTestCase

# In float16, correct code is off by up to 0.002, and code that squares in float16 by 1 or more. In bfloat16, correct
# code is off by up to 0.02, and code that rounds the angles by 2.7 or more.
FLOAT16_LIMIT, BFLOAT16_LIMIT = 0.05, 0.25


class TestModern(CheckingTestCase):
    def test_rms_norm(self):
        """Root mean square normalisation of large and small vectors, and of numbers around 300 in float16."""
        norm, stored = self.student.modern.RMSNorm(12), self.stored("norm")
        norm.load_state(self.stored("norm_weights"))
        with self.part("values"):
            self.assert_tensor(norm(stored["x"]), stored["output"], "the output", "B T size")
            self.assert_tensor(norm(stored["x"] / 1000), stored["small"], "the output for small vectors", "B T size")
        with self.part("half_precision"):
            half = self.student.drivers.rms_norm_in_float16(self.stored("norm_weights")["weight"], 300 * stored["x"])
            self.assert_tensor(half, stored["half"], "the output in float16", "B T size", limit=FLOAT16_LIMIT)
        self.warn_of_side_effects(norm, {"x": stored["x"]}, weights=self.stored("norm_weights"))

    def test_rotate(self):
        """Rotate vectors by the angles of five positions, also in bfloat16; reject an odd number of features."""
        stored = self.stored("rotate")
        x, positions = stored["x"], stored["positions"]
        with self.part("angles"):
            self.assert_tensor(
                self.student.modern.rotate(x, positions), stored["output"], "the rotated x", "B H T d_head"
            )
        with self.part("half_precision"):
            half = self.student.drivers.rotate_in_bfloat16(x, stored["far"])
            name = "the rotated x in bfloat16"
            self.assert_tensor(half, stored["half"], name, "B H T d_head", limit=BFLOAT16_LIMIT)
        with self.part("odd"):
            self.refuses(lambda: self.student.modern.rotate(x[..., :7], positions), 7)
        self.warn_of_changes(self.student.modern.rotate, {"x": x, "positions": positions})

    def test_swiglu(self):
        """Compute the gated feed-forward network."""
        network, stored = self.student.modern.SwiGLU(30, 44), self.stored("swiglu")
        network.load_state(self.stored("swiglu_weights"))
        self.assert_tensor(network(stored["x"]), stored["output"], "the output", "B T d_model")
        self.warn_of_side_effects(network, {"x": stored["x"]}, weights=self.stored("swiglu_weights"))

    def test_grouped_queries(self):
        """Six query heads share two key and value heads: six positions at once, then one with the cache."""
        attention, stored = self.student.modern.GroupedQueryAttention(48, 6, 2), self.stored("attention")
        attention.load_state(self.stored("weights"))
        x = stored["x"]
        with self.part("prompt"):
            self.check(attention(x[:, :6]), "prompt", "the output")
        with self.part("step"):
            cache = [np.array(stored["prompt_keys"]), np.array(stored["prompt_values"])]
            self.check(attention(x[:, 6:], cache), "step", "the output of a step with the cache")
        self.warn_of_changes(attention, {"x": x[:, 6:], "cache": cache})

    def check(self, result: Any, case: str, name: str) -> None:
        """Fail unless the output and cache match the stored ones."""
        stored = self.stored("attention")
        y, cache = self.items(result, 2, "forward")
        self.assert_tensor(y, stored[case], name, "B T d_model")
        for kind, tensor in zip(("keys", "values"), self.items(cache, 2, "the cache"), strict=True):
            self.assert_tensor(tensor, stored[f"{case}_{kind}"], f"the {kind} in the cache", "B G T d_head")
