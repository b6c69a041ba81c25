"""Hidden tests for stage 5: taggers of other sizes, their padding, dropout and gradients."""

from functools import partial
from typing import Any

import numpy as np

from autograder.assignments.variants.hidden.models import VariantsTestCase
from autograder.grading.hidden_case import Twins

AXES = "B T tags"


class TestTagger(VariantsTestCase):
    def tagger(self, config: dict[str, Any], tags: int) -> Twins:
        return self.twins(lambda modules: modules.tagger.EncoderTransformer(num_tags=tags, **config))

    def test_tagger(self):
        """Check random sizes, attention in both directions, dropout, gradients, and input that is too long."""
        config, tags = self.config(), self.pick(2, 3, 7)
        model, longest = self.tagger(config, tags), config["max_len"]
        with self.part("logits"):
            for B, T in ((1, longest), (config["num_heads"], 6), (5, 5), (2, 1)):
                tokens, lengths = self.tokens(config, B, T), self.lengths(B, T)
                real = (np.arange(T) < lengths[:, None])[..., None]
                self.gives(model, "the logits", AXES, tokens, lengths, where=real)
            tokens, lengths = self.tokens(config, 3, 6), np.array([6, 4, 1])
            real = (np.arange(6) < lengths[:, None])[..., None]
            arguments = {"tokens": tokens, "lengths": lengths}
            self.keeps_arguments(model.student, arguments)
            self.same_gradients(model, arguments, self.random(3, 6, tags) * real, "B T")
            training = self.train(self.tagger(self.config(dropout=0.0), tags))
            short = tokens % 31
            title = "the logits in training mode, with a dropout of 0,"
            self.same(lambda model: model(short, lengths), training, title, AXES, real)

            def build(modules: Any, p: float) -> Any:
                return modules.tagger.EncoderTransformer(num_tags=tags, **(config | {"dropout": p}))

            self.same_dropout(build, lambda model: model(**arguments), AXES, real)
        with self.part("too_long"):
            for T in (longest + 1, longest + 5):
                tokens = self.tokens(config, 2, T)
                self.refuses(partial(model.student, tokens, np.array([3, 2])), T, longest)

    def test_tagger_padding(self):
        """Check padding tokens inside sequences, other tokens in the padding, one sequence, and empty sequences."""
        config, tags = self.config(), self.pick(2, 3, 7)
        model, T = self.tagger(config, tags), config["max_len"]
        with self.part("padding"):
            lengths = self.rng.integers(2, T - 1, size=4)
            tokens = self.tokens(config, 4, T)
            tokens[:, 1] = config["padding_idx"]  # a token like any other: only the lengths define the padding
            real = (np.arange(T) < lengths[:, None])[..., None]
            y = self.same(lambda model: model(tokens, lengths), model, "the logits", AXES, real)
            other = np.where(real[..., 0], tokens, (tokens + 1) % config["vocab_size"])
            wrong = "different tokens in the padding change the logits inside a sequence"
            self.unchanged(model.student(other, lengths), y, wrong, "the logits", AXES, real)
            alone = model.student(tokens[:1, : lengths[0]], lengths[:1])
            wrong = "a sequence has different results alone and in a batch"
            self.unchanged(alone, y[:1, : lengths[0]], wrong, "the logits", AXES)
        with self.part("empty"):
            lengths = np.array([4, 0, 6, 0])
            tokens = self.tokens(config, 4, 6)
            real = (np.arange(6) < lengths[:, None])[..., None]
            y = self.same(lambda model: model(tokens, lengths), model, "the logits", AXES, real)
            self.assert_form(y, (4, 6, tags), "the logits with sequences of length 0", AXES)
