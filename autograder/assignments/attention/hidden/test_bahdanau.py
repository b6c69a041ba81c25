"""Hidden tests for stage 3: steps, known targets, whole models of other sizes, gradients, and padding."""

from typing import Any

import numpy as np

from autograder.assignments.attention.hidden.case import CLEAR, AttentionTestCase, padded, sentences
from autograder.assignments.attention.trained import TrainedTestCase
from autograder.grading.graded_case import inside
from autograder.grading.hidden_case import Twins

LOGITS, WEIGHTS = ("logits", "B T_d V"), ("weights", "B T_d T_e")
STEP = {"logits": ("logits", "B V"), "state": ("the new state", "B h"), "weights": ("weights", "B T_e")}


class TestBahdanau(AttentionTestCase, TrainedTestCase):
    def test_decoder_step(self):
        """Check random sizes, one or more sentences, large values at padded positions, dropout, and the gradients."""
        config = self.config()
        decoder = self.decoder(config)
        cases = [
            {"token": self.rng.integers(config["tgt_vocab_size"], size=B), **self.source(config, B, T_e)}
            for B, T_e in ((1, 4), (4, 4), (3, 1), (2, 7))
        ]
        results = [self.results(decoder, inputs) for inputs in cases]
        results.append(self.results(self.in_training(self.decoder(config)), cases[-1]))
        outputs = [self.random(*tensor.shape) for tensor in results[-1][1]]
        for part, number in (("weights", 2), ("state", 1), ("logits", 0)):
            with self.part(part):
                for actual, right in results:
                    self.assert_tensor(actual[number], right[number], *STEP[part])
                if part == "logits":
                    self.learns(decoder, cases[-1], outputs, method="step")
                    self.keeps_arguments(decoder.student, cases[-1], "step")

    def results(self, decoder: Twins, inputs: dict[str, np.ndarray]) -> tuple[Any, Any]:
        """The results of a step: the student's and the reference's."""
        actual = self.items(decoder.student.step(**inputs), 3, "step")
        return actual, self.right(lambda reference: reference.step(**inputs), decoder.reference)

    def test_teacher_forcing(self):
        """Check random sizes, a single step and many steps, the gradients, and dropout."""
        config = self.config()
        decoder = self.decoder(config)
        cases = [
            {"tgt": self.rng.integers(config["tgt_vocab_size"], size=(B, T_d)), **self.source(config, B, T_e)}
            for B, T_e, T_d in ((1, 3, 1), (5, 4, 5), (2, 5, 7))
        ]
        results = [self.forced(decoder, inputs) for inputs in cases]
        results.append(self.forced(self.in_training(self.decoder(config)), cases[-1]))
        outputs = [self.random(*tensor.shape) for tensor in results[-1][1]]
        with self.part("logits"):
            for actual, right in results:
                self.assert_tensor(actual[0], right[0], *LOGITS)
            self.learns(decoder, cases[-1], outputs)
            self.keeps_arguments(decoder.student, cases[-1])
        with self.part("weights"):
            for actual, right in results:
                self.assert_tensor(actual[1], right[1], *WEIGHTS)

    def forced(self, decoder: Twins, inputs: dict[str, np.ndarray]) -> tuple[Any, Any]:
        """The results for known targets: the student's and the reference's."""
        actual = self.items(decoder.student(**inputs), 2, "forward")
        return actual, self.right(lambda reference: reference(**inputs), decoder.reference)

    def test_seq2seq(self):
        """Check random sizes, more padding than needed, the gradients, and the trained model on other sentences."""
        config = self.config()
        model = self.twins(lambda modules: modules.seq2seq.Seq2Seq(**config))
        batches = [self.batch(config, B, T_e, T_d) for B, T_e, T_d in ((1, 4, 3), (4, 5, 4), (3, 3, 7))]
        batches += [self.padded_further(config, batch) for batch in batches]
        results = [
            (model.student(**batch), self.right(lambda reference: reference(**batch), model.reference))  # noqa: B023
            for batch in batches
        ]
        inner = [np.arange(batch["tgt"].shape[1])[:, None] < batch["tgt_lengths"][:, None, None] for batch in batches]
        with self.part("scores"):
            for (actual, right), real in zip(results, inner, strict=True):
                self.assert_tensor(actual, right, *LOGITS, where=real)
            self.learns(model, batches[-1], [self.random(*right.shape) * real])
            self.keeps_arguments(model.student, batches[-1])
        with self.part("padding"):
            for (actual, right), real in zip(results, inner, strict=True):
                self.assert_tensor(actual, right, *LOGITS, where=~real)
        with self.part("trained"):
            self.predict()

    def padded_further(self, config: dict[str, Any], batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The batch with two more columns of random padding in both the source and the target."""
        B = len(batch["src"])
        more = {side: self.rng.integers(config[f"{side}_vocab_size"], size=(B, 2)) for side in ("src", "tgt")}
        return {**batch, **{side: np.hstack([batch[side], columns]) for side, columns in more.items()}}

    def predict(self) -> None:
        """Fail unless the trained model predicts the correct tokens; a near tie may be decided either way."""
        pairs = [sentences()[index] for index in self.rng.permutation(len(sentences()))[:5]]
        src, src_lengths = padded([german for german, _ in pairs])
        tgt, tgt_lengths = padded([english[:-1] for _, english in pairs])
        batch = {"src": src, "tgt": tgt, "src_lengths": src_lengths, "tgt_lengths": tgt_lengths}
        trained = Twins(self.trained_seq2seq(), self.right(self.trained_seq2seq, self.reference))
        right = self.right(lambda reference: reference(**batch), trained.reference)
        best = np.sort(right, axis=-1)[..., -2:]
        clear = inside(tgt_lengths) & (best[..., 1] - best[..., 0] > CLEAR)
        actual = self.part_of_scores(trained.student, right.shape, *LOGITS)(**batch)
        self.assert_tensor(actual, right.argmax(axis=-1), "the next tokens", "B T_d", where=clear)
