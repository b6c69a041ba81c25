"""Hidden tests for stage 2: position tables of other sizes, up to their last row and beyond."""

import contextlib

import numpy as np

from autograder.assignments.transformer.trained import COSINES, ENCODING_LIMIT, check_buffer, check_columns
from autograder.grading.hidden_case import HiddenTestCase, Twins
from autograder.sandbox.student_faults import Raised


class TestPositionalEncoding(HiddenTestCase):
    def test_pe(self):
        """Check tables of random sizes, inputs as long as the table or longer, and the gradient."""
        for part in ("sines", COSINES):
            with self.part(part):
                self.columns(2 * self.pick(3, 5, 9, 20), self.pick(300, 420, 560), part == COSINES)
                self.columns(12, self.pick(5, 7, 8), part == COSINES)
        with self.part("sum"):
            self.encoding(B=1, d_model=2 * self.pick(3, 5, 9, 20), length=self.pick(300, 420, 560))
            self.check_lengths(self.pick(5, 7, 8))
        pe = self.both(lambda modules: modules.pe.PositionalEncoding(12, 7))
        with self.part("x and its gradient"):
            self.needs("sum")
            x = self.random(2, 6, 12)
            self.keeps_arguments(pe.student, {"x": x})
            self.same_gradients(pe, {"x": x}, self.random(*x.shape), "B T d_model")
        with self.part("a buffer"):
            self.needs("sines", COSINES)
            check_buffer(self, pe.student, self.random(2, 6, 12))

    def columns(self, d_model: int, length: int, odd: bool) -> None:
        """Fail unless the even or the odd columns of a table are correct."""
        pe = self.both(lambda modules: modules.pe.PositionalEncoding(d_model, length))
        with contextlib.suppress(Raised):  # a table may be filled at the first call
            pe.student(self.random(1, 2, d_model))
        table, right = pe.student.attribute("pe"), self.right(lambda pe: pe.attribute("pe"), pe.reference)
        check_columns(self, table, right, "pe after a call", odd)

    def check_lengths(self, length: int) -> None:
        """Fail unless inputs of all lengths are encoded correctly, and inputs longer than the table raise an error."""
        pe = self.encoding(B=self.pick(2, 3), d_model=12, length=length)
        short, other, long = self.random(2, 2, 12), self.random(2, 2, 12), self.random(3, length, 12)
        for x in (short, long, other, short):  # no state may be kept from one call to the next
            self.adds(pe, x)
        try:
            pe.student(self.random(1, length + 1, 12))
        except Raised:
            return
        self.wrong(f"an input of {length + 1} positions is accepted, but the table has {length}")

    def encoding(self, B: int, d_model: int, length: int) -> Twins:
        """Return a table if it is correct for short inputs and for the longest possible inputs."""
        pe = self.both(lambda modules: modules.pe.PositionalEncoding(d_model, length))
        for T in (length, self.pick(1, 2, 4)):
            self.adds(pe, self.transposed(B, T, d_model))
        return pe

    def adds(self, pe: Twins, x: np.ndarray) -> None:
        """Fail unless the encoding is added to x."""
        self.same(lambda model: model(x), pe, "x + pe", "B T d_model", limit=ENCODING_LIMIT)
