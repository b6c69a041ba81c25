"""Stage 3: the decoder with attention, and the whole model."""

from typing import Any

import numpy as np

from autograder.assignments.attention.trained import TrainedTestCase
from autograder.grading.graded_case import KEPT, inside

LOGITS = "B T_d V"


class TestBahdanau(TrainedTestCase):
    """Tests that use the trained model and a small model with random weights."""

    def small(self) -> Any:
        """The small model."""
        model = self.student.seq2seq.Seq2Seq(**{name: int(size) for name, size in self.stored("small").items()})
        model.load_state(self.stored("weights"))
        return model

    def decoder_weights(self) -> dict[str, np.ndarray]:
        """The weights of the small model's decoder."""
        start = "decoder."
        return {n.removeprefix(start): w for n, w in self.stored("weights").items() if n.startswith(start)}

    def small_decoder(self, dropout: float = 0.0) -> Any:
        """A decoder with the weights of the small model's decoder."""
        stored = self.stored("small")
        sizes = (int(stored[name]) for name in ("tgt_vocab_size", "embed_size", "hidden_size", "attention_size"))
        decoder = self.student.seq2seq.AttentionDecoder(*sizes, dropout)
        decoder.load_state(self.decoder_weights())
        return decoder

    def check_training(self, inputs: dict[str, np.ndarray]) -> None:
        """Fail unless dropout is applied to the embedded token and the output layer's input, and to nothing else."""
        training, still = self.small_decoder(KEPT), self.small_decoder()
        weights, scaled = self.decoder_weights(), ("embedding.weight", "output.weight")
        still.load_state({name: value / (1 - KEPT) ** (name in scaled) for name, value in weights.items()})
        training.train()
        results = training.deterministic_dropout().step(**inputs), still.step(**inputs)
        for name, actual, right in zip(("logits", "the new state", "weights"), *results, strict=True):
            axes = " ".join(f"axis_{axis}" for axis in range(right.ndim))
            self.assert_tensor(actual, right, f"{name} in training mode, where dropout keeps every element,", axes)

    def test_decoder_step(self):
        """Take one step: attend to the source with the previous state, compute the new state, score the next token."""
        stored = self.stored("step")
        inputs = {name: stored[name] for name in ("token", "state", "enc_outputs", "src_lengths")}
        decoder = self.small_decoder()
        logits, state, weights = self.items(decoder.step(**inputs), 3, "step")
        with self.part("weights"):
            self.assert_tensor(weights, stored["weights"], "weights", "B T_e")
        with self.part("state"):
            self.assert_tensor(state, stored["new_state"], "the new state", "B h")
        with self.part("logits"):
            self.assert_tensor(logits, stored["logits"], "logits", "B V")
        self.warn_of_side_effects(decoder, inputs, "step", weights=self.decoder_weights())
        with self.only_warn(), self.student.unnoted():
            self.check_training(inputs)
        with self.only_warn():
            alone = decoder.step(**{name: value[:1] for name, value in inputs.items()})
            logits, _, weights = self.items(alone, 3, "step")
            self.assert_tensor(weights, stored["weights"][:1], "weights of one sentence alone", "B T_e")
            self.assert_tensor(logits, stored["logits"][:1], "logits of one sentence alone", "B V")

    def test_teacher_forcing(self):
        """Decode known targets: each step reads the correct token and the state of the previous step."""
        stored = self.stored("forced")
        inputs = {name: stored[name] for name in ("tgt", "state", "enc_outputs", "src_lengths")}
        decoder = self.small_decoder()
        logits, weights = self.items(decoder(**inputs), 2, "forward")
        with self.part("logits"):
            self.assert_tensor(logits, stored["logits"], "logits", LOGITS)
        with self.part("weights"):
            self.assert_tensor(weights, stored["weights"], "weights", "B T_d T_e")
        if self.warn_of_side_effects(decoder, inputs, weights=self.decoder_weights()):
            with self.only_warn():
                _, again = self.items(decoder(**inputs), 2, "forward")
                if getattr(again, "shape", None) != stored["weights"].shape:
                    why = "Do you store something on self, in a module variable, or in a mutable default argument?"
                    self.wrong("a second call returns more or fewer weights than the first one", why)

    def test_seq2seq(self):
        """Encode and decode, with zeros at padding; predict the next word at every position with the trained model."""
        stored = self.stored("sentence_pairs")
        inputs = {name: stored[name] for name in ("src", "tgt", "src_lengths", "tgt_lengths")}
        model = self.small()
        logits = model(**inputs)
        real = inside(stored["tgt_lengths"], stored["tgt"].shape[1])[..., None]
        with self.part("scores"):
            self.assert_tensor(logits, stored["logits"], "logits", LOGITS, where=real)
        with self.part("padding"):
            self.assert_tensor(logits, stored["logits"], "logits", LOGITS, where=~real)
        with self.part("trained"):
            self.predict()
        self.warn_of_side_effects(model, inputs, weights=self.stored("weights"), where=real)

    def predict(self) -> None:
        """Fail unless the trained model predicts the correct tokens; a near tie may be decided either way."""
        stored, rows = self.stored("trained"), slice(self.few)
        inputs = {name: stored[name][rows] for name in ("src", "tgt", "src_lengths", "tgt_lengths")}
        real = inside(inputs["tgt_lengths"])
        inputs["src"] = inputs["src"][:, : inputs["src_lengths"].max()]
        inputs["tgt"] = inputs["tgt"][:, : real.shape[1]]
        shape = (*real.shape, self.trained_config().tgt_vocab_size)
        predicted = self.part_of_scores(self.trained_seq2seq(), shape, "logits", LOGITS)(**inputs)
        clear = real & ~stored["near_tie"][rows, : real.shape[1]]
        expected = stored["predicted"][rows, : real.shape[1]]
        self.assert_tensor(predicted, expected, "the next tokens", "B T_d", where=clear)
