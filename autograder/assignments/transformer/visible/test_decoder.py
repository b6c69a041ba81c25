"""Stage 4: the decoder."""

import functools

import numpy as np

from autograder.assignments.transformer.trained import (
    SMALL,
    TINY,
    TrainedTestCase,
    numbers,
    small_arguments,
    small_weights,
)
from autograder.grading.graded_case import inside
from autograder.sandbox.remote_modules import ObjectProxy

FOLLOWED = 4  # sentences traced to locate a mistake: all 30 would take seven times as long


class TestDecoder(TrainedTestCase):
    """Tests of the decoder layer, and of the trained decoder on our sentence pairs, with teacher forcing."""

    def layer(self, dropout_prob: float) -> ObjectProxy:
        """A small layer."""
        layer: ObjectProxy = self.student.decoder.TransformerDecoderLayer(*SMALL, dropout_prob)
        return layer

    def test_encoder_decoder_predictions(self):
        """Predict the next English token at every position of our sentence pairs."""
        if self.few is not None:
            self.check_model()
            return
        with self.part("layer"):
            self.check_layer(self.layer, small_arguments(decoder=True))
            with self.only_warn():
                self.check_without_source()
        with self.part("masks"):
            self.check_layer_masks(self.layer, small_arguments(decoder=True))
        with self.part("dropout"):
            self.needs("layer")
            self.check_layer_dropout(self.layer, small_arguments(decoder=True))
        with self.part("model"), self.shown_by(functools.partial(self.check_model, FOLLOWED)):
            self.check_model()

    def check_without_source(self) -> None:
        """Fail unless a small layer without cross-attention, as in a language model, returns the stored tensor."""
        layer = self.student.decoder.TransformerDecoderLayer(*SMALL, 0.0, no_encoder_attn=True)
        layer.load_state(small_weights(layer.shapes()))
        y = layer(small_arguments(decoder=True)["x"])
        self.assert_tensor(y, self.stored("alone")["output"], "the output without cross-attention", "B T_d d_model")

    def check_model(self, few: int | None = None) -> None:
        """Fail unless the trained model predicts the correct tokens for all sentences, or for the first few."""
        stored = self.stored("sentences")
        rows = slice(few or self.few)
        inputs = {name: stored[name][rows] for name in ("src", "tgt", "src_lengths", "tgt_lengths")}
        inputs["src"] = inputs["src"][:, : inputs["src_lengths"].max()]
        real = inside(inputs["tgt_lengths"])
        inputs["tgt"] = inputs["tgt"][:, : real.shape[1]]
        shape = (*real.shape, int(stored["vocab_size"]))
        predict = self.part_of_scores(self.trained_transformer(), shape, "dec_output", "B T_d tgt_vocab_size")
        predicted = predict(**inputs)
        # A near tie between two tokens may be decided either way.
        clear = real & ~stored["near_tie"][rows, : real.shape[1]]
        expected = stored["predicted"][rows, : real.shape[1]]
        self.assert_tensor(predicted, expected, "the next tokens", "B T_d", where=clear)

    def test_encoder_decoder_states(self):
        """Compute the scores of the output layer from the encoder's output."""
        stored = self.stored("sentences")
        expected, columns = stored["logits"], stored["columns"]
        B, T_d, _ = expected.shape
        inputs = {name: stored[name] for name in ("enc_output", "src_padding_mask")}
        inputs |= {"tgt": stored["tgt"][:B, :T_d], "tgt_lengths": stored["tgt_lengths"][:B]}
        # Only part of the vocabulary is stored. Its columns of the output layer have full rank, so any change in the
        # decoder's last state is visible in them.
        shape = (B, T_d, int(stored["vocab_size"]))
        score = self.part_of_scores(self.trained_transformer(), shape, "dec_output", "B T_d tgt_vocab_size", columns)
        scores = score("forward_decoder", **inputs)
        real = inside(inputs["tgt_lengths"])
        self.assert_tensor(scores, expected, "dec_output", "B T_d tokens", where=real[..., None])
        with self.only_warn():  # the first tokens do not see the others
            T, name = min(3, T_d), "dec_output of the first three tokens alone, in a second call,"
            score = self.part_of_scores(self.trained_transformer(), (B, T, shape[2]), name, "B T_d tokens", columns)
            first = {**inputs, "tgt": inputs["tgt"][:, :T], "tgt_lengths": np.minimum(inputs["tgt_lengths"], T)}
            self.assert_tensor(score("forward_decoder", **first), expected[:, :T], name, "B T_d tokens")
        with self.only_warn():
            self.check_longer_target()
        model, weights = self.tiny_model()
        target = {"tgt": np.array([[1, 4, 8, 3], [1, 9, 5, 2]]), "tgt_lengths": np.array([4, 3])}
        source = {"enc_output": numbers(2, 3, TINY["d_model"]), "src_padding_mask": np.array([[0, 0, 0], [0, 0, 1]])}
        where = inside(target["tgt_lengths"])[..., None]
        self.warn_of_side_effects(model, {**source, **target}, "forward_decoder", weights, where)

    def check_longer_target(self) -> None:
        """Fail unless a small model scores a target as a new model does, even after a call with a shorter target."""
        tgt, source = np.array([[1, 4, 8, 3], [1, 9, 5, 2]]), numbers(2, 3, TINY["d_model"])
        inputs = {"enc_output": source, "src_padding_mask": np.zeros((2, 3))}
        short = {**inputs, "tgt": tgt[:, :2], "tgt_lengths": np.array([2, 2])}
        long = {**inputs, "tgt": tgt, "tgt_lengths": np.array([4, 4])}
        used, new = self.tiny_model()[0], self.tiny_model()[0]
        used.forward_decoder(**short)
        right, name = new.forward_decoder(**long), "dec_output for a target that follows a shorter one"
        self.assert_tensor(used.forward_decoder(**long), right, name, "B T_d tokens")
