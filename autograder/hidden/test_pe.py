"""Stage 2, hidden: tables of positions in other sizes, up to their last row and beyond."""

from autograder.compare import ENCODING_LIMIT
from autograder.hidden.case import HiddenTestCase
from autograder.student import Raised


class TestPositionalEncoding(HiddenTestCase):
    def test_pe(self):
        """Tables of other sizes, inputs as long as the table and longer, and the gradient."""
        for B, d_model, length in ((1, 2 * self.pick(3, 5, 9, 20), self.pick(30, 150, 250)), (self.pick(2, 3), 12, 7)):
            pe = self.both(lambda modules, d=d_model, n=length: modules.pe.PositionalEncoding(d, n))
            for T in (length, self.pick(1, 2, 5)):
                x = self.transposed(B, T, d_model)
                self.same(lambda model, x=x: model(x), pe, "x + pe", "B T d_model", limit=ENCODING_LIMIT)
        self.keeps_arguments(pe.student, x=x)
        gradients = self.same_gradients(pe, self.random(*x.shape), "B T d_model", x=x)
        if gradients.parameters:
            self.wrong("the table is trained", "It is a buffer: the model learns everything else, but not positions.")
        try:
            pe.student(self.random(1, length + 1, d_model))
        except Raised:
            return
        self.wrong(f"an input of {length + 1} positions is accepted, but the table has {length}")
