"""Code shared by the hidden tests of whole models: small random models, batches for them, and other sentences."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograder.assignments.transformer.trained import CHECKPOINT, TrainedTestCase
from autograder.grading.graded_case import inside
from autograder.grading.hidden_case import HiddenTestCase, Twins
from autograder.sandbox.remote_modules import ObjectProxy, Student
from course.config import PAD, SOURCE_TOKENIZER, TARGET_TOKENIZER
from course.location import checkpoints

SENTENCES = Path(__file__).with_name("sentences.tsv")
CLEAR = 1e-3  # two scores closer than this are a near tie


@cache
def tokens(checkpoint: str) -> tuple[list[list[int]], list[list[int]]]:
    """The German and the English sentences as token indices."""
    from course.text import Tokenizer

    pairs = [line.split("\t") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    source, target = (Tokenizer(checkpoints() / checkpoint / name) for name in (SOURCE_TOKENIZER, TARGET_TOKENIZER))
    return [source.encode(german) for german, _ in pairs], [target.encode(english) for _, english in pairs]


def padded(sentences: list[list[int]], fill: int = PAD) -> tuple[np.ndarray, np.ndarray]:
    """Token sequences as one padded array (B, T), and their lengths (B,)."""
    lengths = np.array([len(sentence) for sentence in sentences])
    array = np.full((len(sentences), lengths.max()), fill)
    array[inside(lengths)] = np.concatenate(sentences)
    return array, lengths


class ModelTestCase(HiddenTestCase, TrainedTestCase):
    """A hidden test of layers and models."""

    given = ("pe",)  # the position table

    def layer_sizes(self) -> tuple[int, int, int]:
        """d_model, d_ff and the number of heads for a small layer; d_k is not a power of 4, and d_model is even."""
        H = self.pick(2, 3)
        return H * self.pick(6, 10, 12), self.pick(20, 34, 50), H

    def config(self, **changes: Any) -> dict[str, Any]:
        """The sizes of a small Transformer."""
        d_model, d_ff, H = self.layer_sizes()
        source, target = self.sizes(2, low=40, high=60)
        sos, eos = (int(token) for token in self.rng.permutation(target)[:2])
        return {
            "src_vocab_size": source,
            "tgt_vocab_size": target,
            "sos_idx": sos,
            "eos_idx": eos,
            "d_model": d_model,
            "num_heads": H,
            "num_layers": 2,
            "d_ff": d_ff,
            "max_seq_length": self.pick(11, 16, 23),
            "dropout_prob": 0.3,
            **changes,
        }

    def transformer(self, config: dict[str, Any]) -> Twins:
        """A random Transformer of these sizes."""
        return self.twins(lambda modules: modules.transformer.Transformer(**config))

    def trained(self) -> Twins:
        """The trained model."""
        return Twins(self.trained_transformer(), self.right(self.trained_transformer, self.reference))

    def batch(self, config: dict[str, Any], B: int, T_e: int, T_d: int) -> dict[str, np.ndarray]:
        """Random sentence pairs. The padding is random too, so only the lengths show where it is."""
        return {
            "src": self.rng.integers(config["src_vocab_size"], size=(B, T_e)),
            "tgt": self.rng.integers(config["tgt_vocab_size"], size=(B, T_d)),
            "src_lengths": self.lengths(B, T_e),
            "tgt_lengths": self.lengths(B, T_d),
        }

    def sentences(self, number: int) -> dict[str, np.ndarray]:
        """Some of our sentence pairs, encoded for the trained model; the target lacks its last token."""
        german, english = tokens(CHECKPOINT)
        chosen = self.rng.permutation(len(german))[:number]
        src, src_lengths = padded([german[index] for index in chosen])
        tgt, tgt_lengths = padded([english[index][:-1] for index in chosen])
        return {"src": src, "tgt": tgt, "src_lengths": src_lengths, "tgt_lengths": tgt_lengths}

    def same_dropout(
        self,
        build: Callable[[Student, float], Any],
        call: Callable[[ObjectProxy], Any],
        axes: str,
        where: np.ndarray,
    ) -> None:
        """Fail unless dropout is applied in the same places as in the reference.

        Args:
            build: creates the object with a given dropout probability.
        """
        weights = self.weights(self.right(lambda reference: build(reference, 0.0), self.reference))
        self.check_dropout(lambda p: build(self.student, p), weights, call, axes, where)

    def check_small_features(self, layer: Twins, call: Callable[[Any], Any], axes: str) -> None:
        """Fail unless a layer's norms are correct for nearly constant features, for which eps matters.

        Args:
            call: calls the layer with inputs that are about 1,000 times smaller than usual.
        """
        weights = self.weights(layer.reference)
        last = "final_layer_norm"
        self.load(layer, {name: value * (1 if name.startswith(last) else 1e-3) for name, value in weights.items()})
        self.same(call, layer, "the output for features that hardly vary", axes)
        self.load(layer, weights)
