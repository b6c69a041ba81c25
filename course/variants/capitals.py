"""Lower-case German: words, their capitalisation, and a frequency baseline."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

# Words of letters and digits, and any other character on its own.
UNIT = re.compile(r"[^\W_]+|[^\w\s]|_")


def units(sentence: str) -> list[str]:
    """Return the words and the other characters of a sentence, without spaces."""
    return UNIT.findall(sentence)


def capital(unit: str) -> bool | None:
    """Whether a unit begins with a capital letter; None if it has no case (numbers, full stops)."""
    first = unit[0]
    return first.isupper() if first.lower() != first.upper() else None


def restore(sentence: str, capitals: Iterable[bool]) -> str:
    """Capitalise the units of a sentence for which `capitals` is True."""
    wanted = iter(capitals)
    return UNIT.sub(lambda match: match[0][0].upper() + match[0][1:] if next(wanted) else match[0], sentence)


@dataclass(frozen=True)
class Score:
    """The quality of predicted capitals, not counting first words."""

    accuracy: float  # in % of the words
    f1: float  # of capitals, in %


def score(sentences: Iterable[list[str]], predicted: Iterable[list[bool]]) -> Score:
    """Compare predictions, one for each unit, with the units as written."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for sentence, guesses in zip(sentences, predicted, strict=True):
        with_case = [
            (bool(capital(unit)), guess) for unit, guess in zip(sentence, guesses, strict=True) if _asked(unit)
        ]
        counts.update(with_case[1:])
    right, both = counts[True, True] + counts[False, False], counts[True, True]
    wrong = counts[True, False] + counts[False, True]
    return Score(100 * right / (right + wrong), 100 * 2 * both / (2 * both + wrong))


def _asked(unit: str) -> bool:
    return capital(unit) is not None


class MostFrequentForm:
    """Writes every word in its most frequent form (first words are not counted); unknown words are capitalised."""

    def __init__(self, sentences: Iterable[list[str]]) -> None:
        self.seen: Counter[str] = Counter()
        for sentence in sentences:
            for unit in [unit for unit in sentence if _asked(unit)][1:]:
                self.seen[unit.lower()] += 1 if capital(unit) else -1

    def predict(self, sentence: list[str]) -> list[bool]:
        """Return whether each unit is capitalised."""
        return [_asked(unit) and self.seen.get(unit.lower(), 1) > 0 for unit in sentence]
