"""Hidden tests for stage 3: layers and models of other sizes, causality, dropout, gradients, and other texts."""

from functools import cache, partial
from typing import Any

import numpy as np

from autograder.assignments.variants.hidden.models import VariantsTestCase
from autograder.assignments.variants.trained import CHECKPOINT, TrainedTestCase, trained_sizes
from autograder.grading.hidden_case import Twins
from course.location import checkpoints

TEXTS = (
    "Every morning the tailor looked out of his window, and every morning the same crow sat on the same branch.",
    "The youngest daughter said nothing at all; she took the lantern, went down to the river and called the fish.",
    "A soldier who had lost his way came to a house in the wood. “Who is knocking so late?” cried a voice within.",
    "When seven years were over the king sent for his cook and asked what had become of the silver spoon.",
    "There stood three doors in the hill: one was of iron, one was of glass, and nobody knew what the third was of.",
)


@cache
def texts() -> list[list[int]]:
    """Our own texts, encoded for the checkpoint and all cut to the same length."""
    from course.text import Tokenizer

    tokenizer = Tokenizer(checkpoints() / CHECKPOINT / "tokenizer.model")
    encoded = [tokenizer.encode(text)[:-1] for text in TEXTS]
    return [tokens[: min(map(len, encoded))] for tokens in encoded]


class TestLanguageModel(VariantsTestCase, TrainedTestCase):
    def test_block(self):
        """Check layers of random sizes, with every mask and without a mask, their gradients and their dropout."""
        d_model, H, d_ff = self.layer_sizes()

        def build(modules: Any, p: float) -> Any:
            return modules.language_model.Block(d_model, H, d_ff, p)

        block = self.twins(lambda modules: build(modules, 0.3))
        (T,) = self.sizes(1)
        x = self.transposed(H, T, d_model)
        self.same(lambda model: model(x), block, "the output without a mask", "B T d_model")
        masks = self.masks(H, T)
        for shape, mask in masks.items():
            title = f"the output with a mask of shape {shape}"
            self.gives(block, title, "B T d_model", x, mask)
        arguments = {"x": x, "mask": masks["(B, T, T)"]}
        self.keeps_arguments(block.student, arguments)
        self.same_gradients(block, arguments, self.random(*x.shape), "B T d_model")
        self.same_dropout(build, lambda model: model(**arguments), "B T d_model")

    def model(self, config: dict[str, Any]) -> Twins:
        return self.twins(lambda modules: modules.language_model.DecoderTransformer(**config))

    def test_language_model(self):
        """Check random sizes, causality (also in training mode), dropout, gradients, and input that is too long."""
        config = self.config()
        model, V, longest = self.model(config), config["vocab_size"], config["max_len"]
        with self.part("logits"):
            for B, T in ((1, longest), (config["num_heads"], 4), (3, 3), (2, 1)):
                tokens = self.tokens(config, B, T)
                self.gives(model, "the logits", "B T V", tokens)
            self.causal(model, config, "")
            self.causal(self.train(self.model(self.config(dropout=0.0, vocab_size=V))), config, " in training mode")
            tokens = self.tokens(config, 2, 5)
            self.keeps_arguments(model.student, {"tokens": tokens})
            self.same_gradients(model, {"tokens": tokens}, self.random(2, 5, V), "B T")

            def build(modules: Any, p: float) -> Any:
                return modules.language_model.DecoderTransformer(**(config | {"dropout": p}))

            self.same_dropout(build, lambda model: model(tokens), "B T V")
        with self.part("too_long"):
            for T in (longest + 1, longest + 6):
                tokens = self.tokens(config, 2, T)
                self.refuses(partial(model.student, tokens), T, longest)

    def causal(self, model: Twins, config: dict[str, Any], mode: str) -> None:
        """Fail if a token affects the logits of earlier positions."""
        tokens = self.tokens(config, 2, 8)
        other = np.concatenate([tokens[:, :5], (tokens[:, 5:] + 1) % config["vocab_size"]], axis=1)
        before, after = model.student(tokens), model.student(other)
        self.assert_form(before, (2, 8, config["vocab_size"]), "the logits", "B T V")
        wrong = f"a later token changes the logits of an earlier position{mode}"
        self.unchanged(after, before, wrong, "the logits", "B T V", np.arange(8)[None, :, None] < 5)

    def test_trained_language_model(self):
        """Check the trained model on other texts."""
        model = Twins(self.trained_language_model(), self.right(self.trained_language_model, self.reference))
        V = trained_sizes()["vocab_size"]
        tokens = np.array(texts())[self.rng.permutation(len(TEXTS))[:3]]
        columns = np.sort(self.rng.permutation(V)[:100])

        def score(model: Any) -> np.ndarray:
            return self.part_of_scores(model, (*tokens.shape, V), "the logits", "B T V", columns)(tokens=tokens)

        self.same(score, model, "the logits of some tokens", "B T V")

    def test_loss(self):
        """Check random sizes, padding and padding tokens, and the gradients of the loss."""
        config = self.config()
        model, longest, padding = self.model(config), config["max_len"], config["padding_idx"]
        with self.part("padding"):
            for B, T in ((3, 7), (1, 5), (2, 2)):
                tokens = self.tokens(config, B, T)
                tokens[:, :2] = (padding + 1) % config["vocab_size"]  # at least one token to predict
                tokens[np.arange(T) >= np.maximum(self.lengths(B, T), 2)[:, None]] = padding
                self.same_loss(model, tokens, "the loss")
            tokens = self.tokens(config, 2, 7)
            tokens[0, 4:] = padding
            self.keeps_arguments(model.student, {"tokens": tokens}, "loss")
            self.same_gradients(model, {"tokens": tokens}, np.array(1.0), "B T", "loss")
        with self.part("longest"):
            tokens = self.tokens(config, 2, longest + 1)
            self.same_loss(model, tokens, "the loss of max_len + 1 tokens")
            long = self.tokens(config, 1, longest + 2)
            self.refuses(lambda: model.student.loss(long), longest + 1, longest)

    def same_loss(self, model: Twins, tokens: np.ndarray, name: str) -> None:
        """Fail unless the loss is correct."""
        self.same(lambda model: model.loss(tokens), model, name, "")
