"""Stage 3: the encoder."""

import numpy as np

from autograder.assignments.transformer.trained import SMALL, TINY_SENTENCES, TrainedTestCase, small_arguments
from autograder.grading.graded_case import inside
from autograder.sandbox.remote_modules import ObjectProxy


class TestEncoder(TrainedTestCase):
    """Tests of the encoder layer, and of the trained encoder on 30 German sentences."""

    def layer(self, dropout_prob: float) -> ObjectProxy:
        """A small layer."""
        layer: ObjectProxy = self.student.encoder.TransformerEncoderLayer(*SMALL, dropout_prob)
        return layer

    def test_encoder_output(self):
        """Encode 30 German sentences of different lengths with the trained weights."""
        with self.part("layer"):
            self.check_layer(self.layer, small_arguments())
        with self.part("padding"):
            self.check_layer_masks(self.layer, small_arguments())
        with self.part("dropout"):
            self.needs("layer")
            self.check_layer_dropout(self.layer, small_arguments())
        with self.part("model"):
            self.check_model()

    def check_model(self) -> None:
        """Fail unless the trained encoder returns the stored tensor."""
        stored = self.stored("sentences")
        model = self.trained_transformer()
        result = model.forward_encoder(src=stored["src"], src_lengths=stored["src_lengths"])
        enc_output, src_padding_mask = self.items(result, 2, "forward_encoder")
        real = inside(stored["src_lengths"])
        # Any non-zero value marks padding. The mask comes first: a wrong mask spoils the output.
        mask = src_padding_mask != 0 if hasattr(src_padding_mask, "shape") else src_padding_mask
        self.assert_tensor(mask, ~real, "src_padding_mask", "B T_e")
        self.assert_tensor(enc_output, stored["enc_output"], "enc_output", "B T_e d_model", where=real[..., None])
        with self.only_warn():
            lengths = np.array([2, 3])
            result = model.forward_encoder(src=np.array([[5, 6, 7], [8, 9, 5]]), src_lengths=lengths)
            _, mask = self.items(result, 2, "forward_encoder")
            if not np.array_equal(np.asarray(mask) != 0, ~inside(lengths)):
                why = "src_lengths says where the padding begins, whatever its tokens are."
                self.wrong("src_padding_mask misses padding that does not consist of the padding token", why)
        small, weights = self.tiny_model()
        sentences = {name: TINY_SENTENCES[name] for name in ("src", "src_lengths")}
        where = inside(sentences["src_lengths"])[..., None]
        self.warn_of_side_effects(small, sentences, "forward_encoder", weights, where)
