"""Stage 3: the language model."""

from typing import Any

import numpy as np

from autograder.assignments.variants.trained import TrainedTestCase, trained_sizes
from autograder.assignments.variants.visible.cases import MODEL
from autograder.assignments.variants.visible.checks import CheckingTestCase


class TestLanguageModel(CheckingTestCase, TrainedTestCase):
    """Tests of small models with random weights, and of the trained model."""

    def build(self, p: float) -> Any:
        return self.student.language_model.DecoderTransformer(**(MODEL | {"dropout": p}))

    def model(self) -> Any:
        model = self.build(MODEL["dropout"])
        model.load_state(self.stored("weights"))
        return model

    def test_block(self):
        """One layer, with a causal mask and with a padding mask."""
        stored, weights, masks = self.stored("block"), self.stored("block_weights"), self.stored("masks")
        block = self.student.language_model.Block(30, 5, 44, 0.1)
        block.load_state(weights)
        for name in ("causal", "padding"):
            output = block(stored["x"], masks[name])
            self.assert_tensor(output, stored[name], f"the output with a {name} mask", "B T d_model")

        def build(p: float) -> Any:
            return self.student.language_model.Block(30, 5, 44, p)

        self.assert_dropout(build, weights, lambda block: block(stored["x"], masks["causal"]), stored, "B T d_model")
        self.warn_of_side_effects(block, {"x": stored["x"], "mask": masks["causal"]}, weights=weights)

    def test_language_model(self):
        """Logits of a small model, up to its maximum length; longer input raises an error that names both lengths."""
        model, stored = self.model(), self.stored("model")
        tokens = stored["tokens"]
        with self.part("logits"):
            self.assert_tensor(model(tokens), stored["logits"], "the logits", "B T V")
            self.assert_tensor(model(tokens[:, :1]), stored["single"], "the logits of a single token", "B T V")
            self.assert_dropout(self.build, self.stored("weights"), lambda model: model(tokens), stored, "B T V")
        with self.part("too_long"):
            self.refuses(lambda: model(np.concatenate([tokens, tokens[:, :5]], axis=1)), 17, 12)
        self.warn_of_side_effects(model, {"tokens": tokens[:, :9]}, weights=self.stored("weights"))
        with self.only_warn(), self.student.unnoted():
            other = self.other_padding(int(tokens[0, 1]))
            name = "the logits when one of the tokens is the padding token"
            self.assert_tensor(other(tokens), stored["logits"], name, "B T V")

    def other_padding(self, padding_idx: int) -> Any:
        """The small model with a different padding token."""
        model = self.student.language_model.DecoderTransformer(**(MODEL | {"padding_idx": padding_idx}))
        model.load_state(self.stored("weights"))
        return model

    def test_trained_language_model(self):
        """The trained model reads the beginning of a tale and scores every next token."""
        stored, V = self.stored("trained"), trained_sizes()["vocab_size"]
        tokens = stored["tokens"]
        model = self.trained_language_model()
        score = self.part_of_scores(model, (*tokens.shape, V), "the logits", "B T V", stored["columns"])
        self.assert_tensor(score(tokens=tokens), stored["logits"], "the logits of some tokens", "B T V")

    def test_loss(self):
        """The loss of padded sequences, and of a sequence one token longer than the model's maximum."""
        model, stored = self.model(), self.stored("loss")
        with self.part("padding"):
            self.assert_tensor(model.loss(stored["tokens"]), stored["loss"], "the loss", "")
        with self.part("longest"):
            tokens = self.stored("model")["tokens"]
            longest = np.concatenate([tokens, tokens[:, :1]], axis=1)
            self.assert_tensor(model.loss(longest), stored["longest"], "the loss of max_len + 1 tokens", "")
        tokens = stored["tokens"]
        self.warn_of_side_effects(model, {"tokens": tokens}, "loss", weights=self.stored("weights"))
        with self.only_warn(), self.student.unnoted():
            # The tokens in the padding, after all real tokens, do not matter.
            padding = next(token for token in range(MODEL["vocab_size"]) if token not in tokens)
            other = np.where(tokens == MODEL["padding_idx"], padding, tokens)
            name = f"the loss of a model whose padding_idx is {padding}"
            self.assert_tensor(self.other_padding(padding).loss(other), stored["loss"], name, "")
