"""Stage 2, hidden: positional encoding."""

from autograder.compare import ENCODING_LIMIT
from autograder.hidden.case import HiddenTestCase


class TestPositionalEncoding(HiddenTestCase):
    def test_pe(self):
        """Tables of other sizes."""
        for d_model, length in ((int(self.rng.integers(3, 20)) * 2, int(self.rng.integers(2, 200))), (7, 30)):
            x = self.random(2, length, d_model)
            self.assert_same(
                lambda modules, d=d_model, n=length, x=x: modules.pe.PositionalEncoding(d, n)(x),
                "x + pe",
                "B T d_model",
                limit=ENCODING_LIMIT,
            )
