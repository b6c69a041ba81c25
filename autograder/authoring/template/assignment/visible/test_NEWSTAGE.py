"""Stage 1: layer norm."""

from autograder.grading.graded_case import StageTestCase


class TestLayerNorm(StageTestCase):
    """A layer norm over 6 features, with random weights."""

    def test_layer_norm(self):
        """Normalise feature vectors, including some whose values hardly vary."""
        norm = self.student.NEWNAME.LayerNorm(6)
        norm.load_state(self.stored("weights"))
        for case in ("usual", "flat"):
            stored = self.stored(case)
            self.assert_tensor(norm(stored["x"]), stored["y"], "y", "B T size")
