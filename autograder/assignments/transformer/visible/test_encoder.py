"""Stage 3: the encoder."""

from autograder.assignments.transformer.trained import MASK, TrainedTestCase
from autograder.grading.graded_case import inside


class TestEncoder(TrainedTestCase):
    """The trained encoder on 30 German sentences."""

    def test_encoder_output(self):
        """Encode 30 German sentences of different lengths with the trained weights."""
        stored = self.stored("sentences")
        result = self.trained_transformer().forward_encoder(src=stored["src"], src_lengths=stored["src_lengths"])
        enc_output, src_padding_mask = self.items(result, 2, "forward_encoder")
        real = inside(stored["src_lengths"])
        self.assert_tensor(enc_output, stored["enc_output"], "enc_output", "B T_e d_model", where=real[..., None])
        # Any non-zero value marks padding.
        mask = src_padding_mask != 0 if hasattr(src_padding_mask, "shape") else src_padding_mask
        self.assert_tensor(mask, ~real, "src_padding_mask", "B T_e")
        self.warn_of_layer(
            lambda p: self.student.encoder.TransformerEncoderLayer(12, 20, 2, p),
            {"x": self.random(2, 5, 12), "self_attn_padding_mask": MASK},
        )
