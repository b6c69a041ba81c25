"""Measure how often cross-attention agrees with hand-aligned word pairs from our own sentences.

A head agrees with a pair (German word, English word) if the German word receives the head's largest weight when the
English word is predicted. The other candidates are all other words, the punctuation marks and the end of the sentence.
The target tokens are given (teacher forcing).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import punctuation
from typing import TYPE_CHECKING, Any

from course.errors import UserError

if TYPE_CHECKING:
    import torch

    from course.checkpoint import Checkpoint

ALIGNMENTS = Path(__file__).resolve().parent / "alignments.json"
SPECIAL = ("<s>", "</s>")


@dataclass(frozen=True)
class Aligned:
    """A sentence, its translation, and pairs of corresponding words; each word is unique in its sentence."""

    german: str
    english: str
    pairs: list[tuple[str, str]]


@dataclass(frozen=True)
class Agreement:
    """How often each cross-attention head of the decoder agrees with the aligned pairs."""

    pairs: int
    agreeing: "torch.Tensor"  # (layers, H), number of pairs

    @property
    def best(self) -> tuple[int, int]:
        """The indices of the layer and head that agree most often, starting from 0."""
        layer, head = divmod(int(self.agreeing.argmax()), self.agreeing.size(1))
        return layer, head

    @property
    def share(self) -> float:
        """The fraction of pairs with which the best head agrees."""
        return int(self.agreeing.max()) / self.pairs

    def as_dict(self) -> dict[str, Any]:
        layer, head = self.best
        return {"pairs": self.pairs, "agreeing": self.agreeing.tolist(), "layer": layer, "head": head}

    def __str__(self) -> str:
        layer, head = self.best
        return (
            f"alignment: layer {layer}, head {head} of the cross-attention agrees with {int(self.agreeing.max())} "
            f"of {self.pairs} pairs of words ({self.share:.0%})"
        )


def load_alignments(path: Path = ALIGNMENTS) -> list[Aligned]:
    """Read sentences, their translations, and their pairs of aligned words."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return [
        Aligned(entry["german"], entry["english"], [(german, english) for german, english in entry["pairs"]])
        for entry in entries
    ]


def _cross_attention(model: Any, src: "torch.Tensor", tgt: "torch.Tensor") -> "torch.Tensor":
    from course.read_attention import attention_maps

    cross = attention_maps(model, src, tgt).cross
    assert cross is not None  # there was a target
    return cross


def agreement(
    checkpoint: "Checkpoint", sentences: list[Aligned] | None = None, weigh: Callable[..., Any] | None = None
) -> Agreement:
    """Count the pairs with which each head agrees.

    Args:
        weigh: returns the weights (layers, H, T_d, T_e) for a model, a source and a target; by default a Transformer's
            cross-attention.

    Raises:
        UserError: if a word of a pair is not in its sentence, or occurs more than once.
    """
    import torch

    weigh = weigh or _cross_attention
    sentences = load_alignments() if sentences is None else sentences
    hits = []
    for sentence in sentences:
        src, tgt = checkpoint.source.encode(sentence.german), checkpoint.target.encode(sentence.english)
        # The last target token is predicted, but not read.
        cross = weigh(checkpoint.model, torch.tensor([src]), torch.tensor([tgt[:-1]]))
        german, english = words(checkpoint.source.pieces(src)), words(checkpoint.target.pieces(tgt))
        others = sorted(set(range(len(src))) - {place for places in german for place in places})
        groups = [*german, *([place] for place in others)]  # everything that a head can attend to
        looks = torch.stack([cross[..., places].sum(-1) for places in groups], dim=-1)  # (layers, H, T_d, groups)
        for source_word, target_word in sentence.pairs:
            # A row predicts the next token.
            rows = [place - 1 for place in english[number_of(target_word, sentence.english)]]
            attended = looks[:, :, rows].mean(dim=2).argmax(dim=-1)  # (layers, H)
            hits.append(attended == number_of(source_word, sentence.german))
    return Agreement(len(hits), torch.stack(hits).sum(dim=0))


def words(pieces: list[str]) -> list[list[int]]:
    """Return the indices of each word's pieces, without punctuation. A word starts with "▁"."""
    places: list[list[int]] = []
    for number, piece in enumerate(pieces):
        if piece.startswith("▁"):
            places.append([])
        if places and piece not in SPECIAL and not all(letter in punctuation for letter in piece):
            places[-1].append(number)
    return places


def number_of(word: str, sentence: str) -> int:
    """Return the position of a word in the sentence, counted from 0.

    Raises:
        UserError: if it does not occur exactly once.
    """
    numbers = [number for number, text in enumerate(sentence.split()) if text.strip(punctuation) == word]
    if len(numbers) != 1:
        raise UserError(f"the word {word!r} occurs {len(numbers)} times in {sentence!r}")
    return numbers[0]
