"""Stage 3, hidden: steps, known targets and whole models of other sizes, their gradients, and padding."""

from typing import Any

import numpy as np

from autograder.assignments.attention.hidden.case import FACTOR, AttentionTestCase, padded, sentences
from autograder.assignments.attention.trained import TrainedTestCase
from autograder.grading.graded_case import inside
from autograder.grading.hidden_case import Twins

LOGITS, WEIGHTS = ("logits", "B T_d V"), ("weights", "B T_d T_e")
STEP = (("weights", "B T_e"), ("the new state", "B h"), ("logits", "B V"))


class TestBahdanau(AttentionTestCase, TrainedTestCase):
    def test_decoder_step(self):
        """Other sizes, one sentence and several, loud padding, the place of dropout, and the gradients."""
        config = self.config()
        decoder = self.decoder(config)
        for B, T_e in ((1, 4), (4, 4), (3, 1), (2, 7)):
            inputs = {"token": self.rng.integers(config["tgt_vocab_size"], size=B), **self.source(config, B, T_e)}
            right = self.one_step(decoder, inputs, "")
        self.one_step(decoder.with_dropout_as(FACTOR), inputs, f" with {FACTOR} for dropout")
        outputs = [self.random(*tensor.shape) for tensor in right]
        self.learns(decoder, inputs, outputs, method="step")
        self.keeps_arguments(decoder.student, inputs, "step")

    def one_step(self, decoder: Twins, inputs: dict[str, np.ndarray], when: str) -> list[np.ndarray]:
        """Fail unless a step is right; what the reference gives is given back."""
        right: list[np.ndarray] = self.right(lambda reference: reference.step(**inputs), decoder.reference)
        actual = self.items(decoder.student.step(**inputs), 3, "step")
        for (name, axes), tensor, expected in zip(STEP, reversed(actual), reversed(right), strict=True):
            self.assert_tensor(tensor, expected, name + when, axes)
        return right

    def test_teacher_forcing(self):
        """Other sizes, a single step and many, the gradients, and rows that are decoded alone."""
        config = self.config()
        decoder = self.decoder(config)
        for B, T_e, T_d in ((1, 3, 1), (5, 4, 5), (2, 5, 7)):
            inputs = {"tgt": self.rng.integers(config["tgt_vocab_size"], size=(B, T_d)), **self.source(config, B, T_e)}
            right, exact = self.forced(decoder, inputs, "")
        self.forced(decoder.with_dropout_as(FACTOR), inputs, f" with {FACTOR} for dropout")
        self.learns(decoder, inputs, [self.random(*tensor.shape) for tensor in right], exact)
        self.keeps_arguments(decoder.student, inputs)

    def forced(self, decoder: Twins, inputs: dict[str, np.ndarray], when: str) -> tuple[list[np.ndarray], bool]:
        """Fail unless known targets are decoded as the reference or the student's own `step` does it."""
        right: list[np.ndarray] = self.right(lambda reference: reference(**inputs), decoder.reference)
        actual = self.items(decoder.student(**inputs), 2, "forward")
        exact = [
            self.assert_following(
                actual[part],
                right[part],
                name + when,
                axes,
                lambda: self.unrolled(decoder.student, **inputs)[part],  # noqa: B023
            )
            for part, (name, axes) in ((1, WEIGHTS), (0, LOGITS))
        ]
        return right, all(exact)

    def test_seq2seq(self):
        """Other sizes, more padding than there is need for, the gradients, and other sentences when trained."""
        config = self.config()
        model = self.twins(lambda modules: modules.seq2seq.Seq2Seq(**config))
        exact = True
        for B, T_e, T_d in ((1, 4, 3), (4, 5, 4), (3, 3, 7)):
            batch = self.batch(config, B, T_e, T_d)
            exact = self.whole(model, batch) and exact
            further = self.padded_further(config, batch)
            logits, more = model.student(**batch), model.student(**further)
            wrong = "the scores of a sentence depend on how far the batch is padded"
            self.assert_form(more, (B, T_d + 2, config["tgt_vocab_size"]), *LOGITS)
            self.unchanged(more[:, :T_d], logits, wrong, *LOGITS)
            exact = self.whole(model, further) and exact
        self.learns(model, batch, [self.random(*logits.shape)], exact)
        self.keeps_arguments(model.student, batch)
        self.predict(exact)

    def padded_further(self, config: dict[str, Any], batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The batch with two more columns of random padding on each side."""
        B = len(batch["src"])
        more = {side: self.rng.integers(config[f"{side}_vocab_size"], size=(B, 2)) for side in ("src", "tgt")}
        return {**batch, **{side: np.hstack([batch[side], columns]) for side, columns in more.items()}}

    def whole(self, model: Twins, batch: dict[str, np.ndarray]) -> bool:
        """Fail unless a model is right, or does what follows from the student's own decoder."""
        right = self.right(lambda reference: reference(**batch), model.reference)

        def following() -> Any:
            # The wider the padding, the more zeros; what is inside comes from the sentences alone.
            decoded = [
                model.student(**{name: values[row : row + 1] for name, values in batch.items()})[0]
                for row in range(len(batch["src"]))
            ]
            return self.without_padding(np.stack(decoded), batch["tgt_lengths"])

        return self.assert_following(model.student(**batch), right, *LOGITS, following)

    def predict(self, counts: bool) -> None:
        """Fail unless the trained model predicts the tokens that it should; a near tie may fall either way."""
        pairs = [sentences()[index] for index in self.rng.permutation(len(sentences()))[:5]]
        src, src_lengths = padded([german for german, _ in pairs])
        tgt, tgt_lengths = padded([english[:-1] for _, english in pairs])
        batch = {"src": src, "tgt": tgt, "src_lengths": src_lengths, "tgt_lengths": tgt_lengths}
        trained = Twins(self.trained_seq2seq(), self.right(self.trained_seq2seq, self.reference))
        right = self.right(lambda reference: reference(**batch), trained.reference)
        best = np.sort(right, axis=-1)[..., -2:]
        clear = inside(tgt_lengths) & (best[..., 1] - best[..., 0] > 1e-3)
        if counts:
            actual = self.part_of_scores(trained.student, right.shape, *LOGITS)(**batch)
            self.assert_tensor(actual, right.argmax(axis=-1), "the next token", "B T_d", where=clear)
