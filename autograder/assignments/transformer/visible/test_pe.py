"""Stage 2: positional encoding."""

from autograder.assignments.transformer.trained import ENCODING_LIMIT
from autograder.grading.graded_case import StageTestCase


class TestPositionalEncoding(StageTestCase):
    """A table of 15 positions with d_model = 32."""

    def test_pe(self):
        """Fill the table with sines and cosines, and add its first T rows to the embeddings."""
        stored = self.stored("pe")
        encoding = self.student.pe.PositionalEncoding(d_model=32, max_seq_length=15)
        self.assert_tensor(encoding.attribute("pe"), stored["table"], "pe", "1 T d_model", limit=ENCODING_LIMIT)
        self.assert_tensor(encoding(stored["x"]), stored["output"], "x + pe", "B T d_model", limit=ENCODING_LIMIT)
