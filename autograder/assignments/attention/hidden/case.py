"""Code shared by the hidden tests of `attention`: comparison of functions and gradients, small models, sentences."""

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograder.assignments.attention.trained import CHECKPOINT
from autograder.grading.hidden_case import HiddenTestCase, Twins
from course.config import PAD, SOURCE_TOKENIZER, TARGET_TOKENIZER
from course.location import checkpoints

SENTENCES = Path(__file__).with_name("sentences.tsv")
CLEAR = 1e-3  # two scores closer than this are a near tie
KEPT = 0.2  # a dropout probability below 0.5: deterministic dropout keeps every element and divides it by 0.8


class AttentionTestCase(HiddenTestCase):
    """A hidden test of this assignment."""

    def function(self, module: str, name: str) -> Twins:
        """The student's and the reference's versions of a function."""
        return Twins(
            getattr(getattr(self.student, module), name),
            self.reference and getattr(getattr(self.reference, module), name),
        )

    def in_training(self, twins: Twins) -> Twins:
        """Both objects in training mode; deterministic dropout keeps or drops all elements, whichever is likelier."""
        self.train(twins)
        return Twins(twins.student.deterministic_dropout(), twins.reference and twins.reference.deterministic_dropout())

    def leaves(self, function: Any, **arguments: Any) -> None:
        """Check whether a call to a function or an object changes its arguments; a change costs only a few points."""
        after = function.arguments_after(**arguments)
        for name, value in arguments.items():
            self.checks += 1
            with self.minor():
                if isinstance(value, np.ndarray) and not self.equal(after[name], value):
                    self.argument_changed(name)

    def learns(
        self,
        twins: Twins,
        arguments: Mapping[str, Any],
        outputs: list[np.ndarray],
        but: Collection[str] = (),
        method: str | None = None,
    ) -> None:
        """Fail unless gradients flow back to the arguments and the parameters as in the reference.

        Args:
            outputs: the gradients with respect to the outputs.
            but: arguments whose gradients are not checked.
        """
        options = {} if method is None else {"method": method}
        right = self.right(lambda model: model.gradients(outputs, **options, **arguments), twins.reference)
        actual = self.differentiated(lambda: twins.student.gradients(outputs, **options, **arguments), right)
        names = [name for name, value in arguments.items() if getattr(value, "dtype", None) == np.float64]
        gradients = dict(zip(names, actual.inputs, strict=False))
        for name, expected in zip(names, right.inputs, strict=True):
            if name not in but:
                axes = " ".join(f"axis_{number}" for number in range(arguments[name].ndim))
                self.same_gradient(name, gradients.get(name), expected, axes)
        for name, expected in right.parameters.items():
            axes = "" if expected is None else " ".join(("out", "in")[-expected.ndim :] if expected.ndim else ())
            self.same_gradient(name, actual.parameters.get(name), expected, axes)

    # Small translators

    def config(self, **changes: Any) -> dict[str, Any]:
        """The sizes of a small translator (all different), and special tokens from anywhere in the vocabulary."""
        source, target = self.sizes(2, low=30, high=45)
        embed, hidden, attention = self.sizes(3, low=5, high=11)
        sos, eos, pad = (int(token) for token in self.rng.permutation(min(source, target))[:3])
        sizes = {"embed_size": embed, "hidden_size": hidden, "attention_size": attention}
        tokens = {"sos_idx": sos, "eos_idx": eos, "pad_idx": pad}
        return {"src_vocab_size": source, "tgt_vocab_size": target, **tokens, **sizes, "dropout_prob": KEPT, **changes}

    def decoder(self, config: dict[str, Any]) -> Twins:
        """The decoder of a small translator."""
        names = ("tgt_vocab_size", "embed_size", "hidden_size", "attention_size", "dropout_prob")
        sizes = [config[name] for name in names]
        return self.twins(lambda modules: modules.seq2seq.AttentionDecoder(*sizes))

    def batch(self, config: dict[str, Any], B: int, T_e: int, T_d: int) -> dict[str, np.ndarray]:
        """Random sentence pairs. The padding is random too, so only the lengths show where it is."""
        return {
            "src": self.rng.integers(config["src_vocab_size"], size=(B, T_e)),
            "tgt": self.rng.integers(config["tgt_vocab_size"], size=(B, T_d)),
            "src_lengths": self.lengths(B, T_e),
            "tgt_lengths": self.lengths(B, T_d),
        }

    def source(self, config: dict[str, Any], B: int, T_e: int) -> dict[str, np.ndarray]:
        """Random encoder outputs, with large values at padded positions, and a random decoder state."""
        h, lengths = config["hidden_size"], self.lengths(B, T_e)
        loud = np.where(np.arange(T_e) < lengths[:, None], 1.0, 50.0)[..., None]
        outputs = loud * self.random(B, T_e, 2 * h)
        return {"state": self.random(B, h), "enc_outputs": outputs, "src_lengths": lengths}

    def weight(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Random values for one parameter; the values of w_v are larger, so that additive attention is sharp."""
        return (3.0 if "w_v" in name else 1.0) * super().weight(name, shape)


@cache
def sentences() -> list[tuple[list[int], list[int]]]:
    """Our sentence pairs as token indices."""
    from course.text import Tokenizer

    pairs = [line.split("\t") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    source, target = (Tokenizer(checkpoints() / CHECKPOINT / name) for name in (SOURCE_TOKENIZER, TARGET_TOKENIZER))
    return [(source.encode(german), target.encode(english)) for german, english in pairs]


def padded(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Token sequences as one padded array (B, T), and their lengths (B,)."""
    lengths = np.array([len(row) for row in rows])
    return np.array([[*row, *[PAD] * (max(lengths) - len(row))] for row in rows]), lengths
