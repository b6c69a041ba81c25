"""Stage 4: translation and its measure (extra credit)."""

import numpy as np

from autograder.assignments.attention.bleu_cases import SENTENCES
from autograder.assignments.attention.trained import TrainedTestCase


class TestTranslate(TrainedTestCase):
    """The trained model translates by itself; translations are compared with references."""

    def test_translate_extra_credit(self):
        """Translate a batch of German sentences: each ends with eos, and padding fills what is behind it."""
        stored = self.stored("sentences")
        src, src_lengths, limit = stored["src"], stored["src_lengths"], int(stored["max_output_length"])
        tokens = self.trained_seq2seq().translate(src=src, src_lengths=src_lengths, max_output_length=limit)
        self.assert_tensor(tokens, stored["tokens"], "the tokens", "B T")
        shorter = self.trained_seq2seq().translate(src=src, src_lengths=src_lengths, max_output_length=3)
        self.assert_tensor(shorter, stored["tokens"][:, :4], "the tokens with max_output_length = 3", "B T")

    def test_sentence_bleu_extra_credit(self):
        """Measure translations: n-grams, what they share, and the penalty for being short."""
        for candidate, reference, k, expected in SENTENCES:
            score = self.student.seq2seq.sentence_bleu(candidate.split(), reference.split(), k)
            self.assert_number(score, expected, f"the BLEU of {candidate!r} for {reference!r} with k = {k}")

    def assert_number(self, actual: object, expected: float, name: str) -> None:
        """Fail unless `actual` is the expected number."""
        self.checks += 1
        value = np.asarray(actual)
        if value.shape != () or value.dtype.kind not in "iuf":
            self.wrong(f"{name} is no number", f"got       {actual!r:.80}")
        if not abs(float(value) - expected) < 1e-6:
            numbers = f"expected  {expected:.6f}", f"got       {float(value):.6f}"
            self.wrong(f"{name} is wrong", *numbers, actual=value.astype(np.float64))
