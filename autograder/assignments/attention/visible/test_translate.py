"""Stage 4: translation and BLEU (extra credit)."""

from typing import Any

import numpy as np

from autograder.assignments.attention.bleu_cases import PENALTY, PRECISIONS, SHORT, Cases
from autograder.assignments.attention.trained import TINY, TrainedTestCase
from autograder.grading.graded_case import as_number


class TestTranslate(TrainedTestCase):
    """Tests in which the trained model translates on its own, and tests of BLEU."""

    def test_translate_extra_credit(self):
        """Translate a batch of German sentences: each ends with eos, and padding fills the rest."""
        stored = self.stored("sentences")
        inputs = {name: stored[name] for name in ("src", "src_lengths")}
        model, expected = self.trained_seq2seq(), stored["tokens"]
        tokens = model.translate(**inputs, max_output_length=int(stored["max_output_length"]))
        ends = expected == self.trained_config().eos_idx
        behind = np.cumsum(ends, axis=1) > ends
        with self.part("tokens"), self.shown_by(self.check_tiny):
            self.assert_tensor(_as_wide(tokens, expected), expected, "the tokens", "B T", where=~behind)
        with self.part("padding"), self.shown_by(self.check_tiny):
            self.assert_tensor(tokens, expected, "the tokens", "B T", where=behind)
        with self.part("limit"), self.shown_by(self.check_tiny):
            shorter = model.translate(**inputs, max_output_length=3)
            self.assert_tensor(shorter, expected[:, :4], "the tokens with max_output_length = 3", "B T")
        if not any(error for error, _ in self.outcomes.values()):
            for check in (self.check_end, self.check_start_again):
                with self.only_warn():
                    check()
            self.warn_of_changes(model, {**inputs, "max_output_length": 1}, "translate")

    def check_tiny(self, sentences: int | None = None) -> None:
        """Fail unless a small model translates short sentences correctly: all three, or only the first few."""
        stored = self.stored("tiny")
        model = self.student.seq2seq.Seq2Seq(**TINY, eos_idx=int(stored["eos_idx"]))
        model.load_state({name: stored[f"weights.{name}"] for name in model.shapes()})
        call = {name: stored[name][:sentences] for name in ("src", "src_lengths")}
        tokens = model.translate(**call, max_output_length=int(stored["max_output_length"]))
        expected = stored["tokens"][:sentences]
        expected = expected[:, (expected != TINY["pad_idx"]).any(axis=0)]
        some = f" of {sentences} sentences, one of which ends earlier," if sentences else ""
        self.assert_tensor(tokens, expected, f"the tokens{some}", "B T")

    def check_end(self) -> None:
        """Fail unless decoding stops once both sentences have produced eos, one earlier than the other.

        After eos, the small model produces other tokens, whereas the trained model keeps producing eos.
        """
        self.check_tiny(sentences=2)

    def check_start_again(self) -> None:
        """Fail unless a small model can choose its start or padding token within a sentence and then continue.

        The model cannot choose its end token. A second call, with the sentences in reverse order, keeps nothing.
        """
        stored = self.stored("tiny")
        special = {name: int(stored[f"again.{name}"]) for name in ("sos_idx", "pad_idx")}
        special["eos_idx"] = TINY["tgt_vocab_size"]
        model = self.student.seq2seq.Seq2Seq(**{**TINY, **special})
        model.load_state({name: stored[f"weights.{name}"] for name in model.shapes()})
        call = {name: stored[name] for name in ("src", "src_lengths")}
        tokens = model.translate(**call, max_output_length=int(stored["max_output_length"]))
        both = f"sos_idx = {special['sos_idx']} and pad_idx = {special['pad_idx']}"
        name = f"the tokens, with {both} in the middle,"
        self.assert_tensor(tokens, stored["again.tokens"], name, "B T")
        again = {name: value[::-1].copy() for name, value in call.items()}
        tokens = model.translate(**again, max_output_length=int(stored["max_output_length"]))
        self.assert_tensor(tokens, stored["again.tokens"][::-1], "the tokens of the batch in reverse order", "B T")

    def test_sentence_bleu_extra_credit(self):
        """Compute BLEU from the n-grams, the number of shared n-grams, and the penalty for short translations."""
        for part, cases in (("precisions", PRECISIONS), ("penalty", PENALTY), ("short", SHORT)):
            with self.part(part):
                self.measure(cases)
        with self.only_warn():
            self.measure_numbers()

    def measure_numbers(self) -> None:
        """Fail unless BLEU also accepts numbers as tokens, as in a model's output."""
        score = self.student.seq2seq.sentence_bleu([5, 12, 7], [5, 12, 9], 2)
        self.assert_number(
            score, (2 / 3) ** 0.5 * (1 / 2) ** 0.25, "the BLEU of [5, 12, 7] against [5, 12, 9] with k = 2"
        )

    def measure(self, cases: Cases) -> None:
        """Fail unless the BLEU scores of all these translations are correct."""
        for candidate, reference, k, expected in cases:
            score = self.student.seq2seq.sentence_bleu(candidate.split(), reference.split(), k)
            self.assert_number(score, expected, f"the BLEU of {candidate!r} against {reference!r} with k = {k}")

    def assert_number(self, actual: Any, expected: float, name: str) -> None:
        """Fail unless `actual` is the expected number."""
        self.checks += 1
        value = as_number(actual)
        if value.shape != () or value.dtype.kind not in "iuf":
            self.wrong(f"{name} is not a number", f"got       {actual!r:.80}")
        if not abs(float(value) - expected) < 1e-6:
            numbers = f"expected  {expected:.6f}", f"got       {float(value):.6f}"
            self.wrong(f"{name} is wrong", *numbers, actual=value.astype(np.float64))


def _as_wide(tokens: Any, expected: np.ndarray) -> Any:
    """Cut or pad tokens to the expected number of columns, so that extra or missing padding has no effect."""
    if not isinstance(tokens, np.ndarray) or tokens.ndim != 2 or len(tokens) != len(expected):
        return tokens
    missing = max(0, expected.shape[1] - tokens.shape[1])
    return np.pad(tokens, ((0, 0), (0, missing)), constant_values=-1)[:, : expected.shape[1]]
