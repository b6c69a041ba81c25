"""Stage 2: positional encoding."""

import contextlib

from autograder.assignments.transformer.trained import COSINES, ENCODING_LIMIT, check_buffer, check_columns
from autograder.grading.graded_case import StageTestCase
from autograder.sandbox.student_faults import NotStarted, Raised


class TestPositionalEncoding(StageTestCase):
    """Tests of a table of 15 positions with d_model = 32."""

    def test_pe(self):
        """Fill the table with sines and cosines, and add its first T rows to the embeddings."""
        stored = self.stored("pe")
        encoding = self.student.pe.PositionalEncoding(d_model=32, max_seq_length=15)
        with contextlib.suppress(NotStarted, Raised):  # a table may be filled at the first call
            encoding(stored["x"])
        for part in ("sines", COSINES):
            with self.part(part):
                check_columns(self, encoding.attribute("pe"), stored["table"], "pe after a call", part == COSINES)
        with self.part("sum"):
            self.assert_tensor(encoding(stored["x"]), stored["output"], "x + pe", "B T d_model", limit=ENCODING_LIMIT)
        with self.part("x and its gradient"):
            self.needs("sum")
            self.keeps_arguments(encoding, {"x": stored["x"]})
        with self.part("a buffer"):
            self.needs("sines", COSINES)
            check_buffer(self, encoding, stored["x"])
        self.warn_of_side_effects(encoding, {"x": stored["x"]})
        with self.only_warn():
            shorter, right = stored["x"][:, :4], stored["output"][:, :4]
            name = "x + pe for a shorter input after a longer one"
            self.assert_tensor(encoding(shorter), right, name, "B T d_model", limit=ENCODING_LIMIT)
