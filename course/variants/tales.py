"""Grimms' fairy tales in English: reading them, and an n-gram baseline."""

import gzip
import math
import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from course.errors import UserError

DATA = Path(__file__).resolve().parent.parent / "data"
BEGINNING = 16  # newlines before each tale, the context of its first characters; the maximum n
UNKNOWN_BITS = 7.0  # the cost of a character that is not in the training tales: a choice among about 128


@dataclass(frozen=True)
class Tale:
    """A fairy tale."""

    title: str
    paragraphs: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The title and the paragraphs."""
        return (self.title, *self.paragraphs)

    @property
    def characters(self) -> int:
        """The length of the text, counting one character for the end of each line."""
        return sum(len(line) + 1 for line in self.lines)


def read_tales(split: Literal["train", "val"], folder: Path = DATA) -> list[Tale]:
    """Return the 58 training tales, or the four held-out ones.

    Raises:
        UserError: if the file is missing or damaged.
    """
    path = folder / f"grimm.{split}.en.txt.gz"
    try:
        text = gzip.decompress(path.read_bytes()).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise UserError(f"the fairy tales {path} cannot be read: {error}") from error
    tales = []
    for block in text.strip().split("\n\n"):
        title, *paragraphs = block.split("\n")
        if not title.startswith("# ") or not paragraphs:
            raise UserError(f"the fairy tales {path} are damaged: a tale begins with {title[:40]!r}")
        tales.append(Tale(title.removeprefix("# "), tuple(paragraphs)))
    return tales


def ngram_bits(training: Iterable[Tale], held_out: Iterable[Tale], n: int) -> float:
    """Bits per character of an interpolated character n-gram model (Witten and Bell, 1991) on held-out tales.

    The probability after a context is estimated from counts and mixed with the probability after the same context
    without its first character. If the context occurred c times with d different successors, the shorter context has
    the weight d / (d + c). The estimate for the empty context is mixed with a uniform distribution over all characters.
    """
    counts: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    known = set("\n")
    for tale in training:
        text = _text(tale)
        known.update(text)
        for place in range(BEGINNING, len(text)):
            for length in range(n):
                counts[text[place - length : place]][text[place]] += 1
    totals = {context: sum(successors.values()) for context, successors in counts.items()}
    bits, characters = 0.0, 0
    for tale in held_out:
        text = _text(tale)
        for place in range(BEGINNING, len(text)):
            bits += UNKNOWN_BITS * (text[place] not in known)
            probability = 1 / (len(known) + 1)
            for length in range(n):
                context = text[place - length : place]
                if context in totals:
                    successors, total = counts[context], totals[context]
                    count = successors.get(text[place], 0)
                    probability = (count + len(successors) * probability) / (total + len(successors))
            bits -= math.log2(probability)
        characters += tale.characters
    return bits / characters


def _text(tale: Tale) -> str:
    """Return a tale with a prefix that serves as the context of its first character."""
    return "\n" * BEGINNING + "\n".join(tale.lines) + "\n"
