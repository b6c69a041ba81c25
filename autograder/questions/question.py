"""A question with one right answer, and how its options are chosen so that their form reveals nothing."""

import hashlib
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

OPTIONS = 4  # per question, if there are that many
CHOICES = 60  # random sets of wrong options, one of which is taken
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
    """Choose wrong options from a pool, so that the form of the right one reveals nothing.

    Options can be ranked by superficial properties, such as length. For each property, a random rank is drawn for the
    right option. Of some random choices, the one that comes closest to these ranks is taken.
    """
    pool = [one for one in pool if one != right]
    choices = [rng.sample(pool, min(OPTIONS - 1, len(pool))) for _ in range(CHOICES)]
    looks = [_number] if re.fullmatch(r"[\d.-]+", right) else [_length, _number]
    ranks = [[_rank(look, right, one) for one in choices] for look in looks]
    wanted = [rng.choice(sorted(set(places))) for places in ranks]
    off = [
        sum(abs(place - one) for place, one in zip(places, wanted, strict=True)) for places in zip(*ranks, strict=True)
    ]
    return choices[off.index(min(off))]


def _rank(look: Callable[[str], float], right: str, wrong: Sequence[str]) -> float:
    """The number of options ranked before the right one; equal ones count half."""
    return sum((look(one) < look(right)) + (look(one) == look(right)) / 2 for one in wrong)


def _length(option: str) -> float:
    return len(option)


def _number(option: str) -> float:
    """The sum of the option's numbers; if the option begins with a line number, only that number."""
    numbers = re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", option)
    return float(numbers[0]) if option.startswith("line") else sum(map(float, numbers))
