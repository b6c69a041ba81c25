"""Stage 5: the tagger."""

from typing import Any

import numpy as np

from autograder.assignments.variants.visible.cases import MODEL
from autograder.assignments.variants.visible.checks import CheckingTestCase
from autograder.grading.graded_case import inside


class TestTagger(CheckingTestCase):
    """Tests of a small model with random weights and four tags."""

    def build(self, p: float) -> Any:
        return self.student.tagger.EncoderTransformer(num_tags=4, **(MODEL | {"dropout": p}))

    def model(self) -> Any:
        model = self.build(MODEL["dropout"])
        model.load_state(self.stored("weights"))
        return model

    def test_tagger(self):
        """Logits of a padded batch, up to the maximum length; longer input raises an error that names both lengths."""
        model, stored = self.model(), self.stored("model")
        tokens, lengths = stored["tokens"], stored["lengths"]
        real = inside(lengths)
        with self.part("logits"):
            short = tokens[:, : real.shape[1]]
            self.assert_tensor(model(short, lengths), stored["short"], "the logits", "B T tags", real[..., None])

            def call(model: Any) -> Any:
                return model(short, lengths)

            weights = self.stored("weights")
            self.assert_dropout(self.build, weights, call, stored, "B T tags", real[..., None])
        with self.part("too_long"):
            self.refuses(lambda: model(np.concatenate([tokens, tokens[:, :5]], axis=1), lengths), 17, 12)
        arguments = {"tokens": tokens[:, : real.shape[1]], "lengths": lengths}
        self.warn_of_side_effects(model, arguments, weights=self.stored("weights"), where=real[..., None])

    def test_tagger_padding(self):
        """Use more padding than the longest sequence needs, different tokens in the padding, and an empty sequence."""
        model, stored = self.model(), self.stored("model")
        tokens, lengths = stored["tokens"], stored["lengths"]
        real = np.arange(tokens.shape[1]) < lengths[:, None]
        right = stored["logits"]
        with self.part("padding"):
            self.assert_tensor(model(tokens, lengths), right, "the logits", "B T tags", real[..., None])
            other = np.where(real, tokens, (tokens + 5) % MODEL["vocab_size"])
            title = "the logits with different tokens in the padding"
            self.assert_tensor(model(other, lengths), right, title, "B T tags", real[..., None])
        with self.part("empty"):
            result = model(tokens, np.array([lengths[0], 0, lengths[2]]))
            title = "the logits with a sequence of length 0"
            self.assert_form(result, right.shape, title, "B T tags")
            real[1] = False
            self.assert_tensor(result, right, title, "B T tags", real[..., None])
