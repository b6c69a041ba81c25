"""A question with one right answer, and the choice of wrong options that do not give it away."""

import hashlib
import itertools
import json
import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

OPTIONS = 4  # per question, if there are that many
MOST_WRONG = 20  # possible wrong options; all sets of them are compared
LETTERS = "ABCD"
Maps = tuple[tuple[str, list[list[float]]], ...]  # pictures: a title and rows of numbers


@dataclass(frozen=True)
class Question:
    """A question about a student's own code. All strings are Markdown with no markup other than `code`."""

    kind: str
    difficulty: int  # 1 easy, 3 hard
    text: str
    options: tuple[str, ...]
    right: int
    because: str
    lines: tuple[tuple[str, int], ...]  # (file, line) of the code that it is about
    maps: Maps = ()
    call: str = ""  # how the text begins if it is about a call

    @property
    def id(self) -> str:
        """A hash of the question."""
        return hashlib.sha256(json.dumps([self.kind, self.text, self.options, self.maps]).encode()).hexdigest()[:10]

    @property
    def letter(self) -> str:
        return LETTERS[self.right]

    def plain(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {"id": self.id, "letter": self.letter, **asdict(self)}


def pick(rng: random.Random, right: str, pool: Sequence[str]) -> list[str]:
    """Choose wrong options from a pool so that the form of the right option does not give it away.

    Options can be ranked by superficial properties: length and size. For each property, the rank of the right option is
    drawn from all possible ranks. The wrong options that come closest to these ranks are used.
    """
    pool = sorted({*pool} - {right})
    pool = rng.sample(pool, min(MOST_WRONG, len(pool)))
    choices = [*itertools.combinations(pool, min(OPTIONS - 1, len(pool)))]
    off = [0.0] * len(choices)
    for look in [_number] if re.fullmatch(r"`?[\d.-]+`?", right) else [len, _number]:
        size, looks = look(right), {one: look(one) for one in pool}
        # Options that look the same count half.
        ranks = [sum((looks[one] < size) + (looks[one] == size) / 2 for one in choice) for choice in choices]
        wanted = rng.choice(sorted({*ranks}))
        off = [before + abs(rank - wanted) for before, rank in zip(off, ranks, strict=True)]
    closest = min(off)
    return [*rng.choice([choice for choice, one in zip(choices, off, strict=True) if one == closest])]


def _number(option: str) -> float:
    """The sum of the option's numbers, or only the line number if the option begins with one."""
    numbers = re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", option)
    return float(numbers[0]) if option.startswith("line") else sum(map(float, numbers))
