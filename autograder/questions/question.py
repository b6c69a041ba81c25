"""A question with one right answer, and how its options are chosen so that their look tells nothing."""

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

OPTIONS = 4  # of a question; three are enough where a program has no more to offer
LETTERS = "ABCD"
Option = TypeVar("Option")
Map = list[list[float]]


@dataclass(frozen=True)
class Question:
    """A question about a student's own code. All texts are Markdown with nothing but `code`."""

    kind: str
    difficulty: int  # 1 easy, 3 hard
    stage: str
    text: str
    options: tuple[str, ...]
    right: int
    because: str
    lines: tuple[tuple[str, int], ...]  # of the student's files, that it is about
    code: tuple[tuple[str, int, str], ...]  # what is shown: file, line (0: no number), text
    maps: tuple[tuple[str, Map], ...] = field(default=())  # pictures: a title and rows of numbers
    wrong: tuple[str, ...] = ()  # of each option what the run showed; "" for the right one

    @property
    def id(self) -> str:
        """The same for the same question."""
        return hashlib.sha256(json.dumps([self.kind, self.text, self.options, self.maps]).encode()).hexdigest()[:10]

    @property
    def letter(self) -> str:
        return LETTERS[self.right]

    def plain(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {"id": self.id, **asdict(self)}


def pick(
    rng: random.Random, right: Option, pool: Sequence[Option], key: Callable[[Option], float], most: int = OPTIONS - 1
) -> list[Option] | None:
    """Wrong options from a pool so that the right one is as likely the largest as the smallest; None for too few.

    Args:
        key: what somebody could go by who knows nothing: the length of a text, a number, a line.
    """
    pool = list(dict.fromkeys(pool))
    count = min(most, len(pool))
    if count < 2:
        return None
    below = [one for one in pool if key(one) < key(right)]
    above = [one for one in pool if key(one) > key(right)]
    alike = [one for one in pool if key(one) == key(right)]
    rng.shuffle(below)
    rng.shuffle(above)
    rng.shuffle(alike)
    rank = rng.randint(0, count)
    chosen = below[:rank] + above[: count - rank]
    chosen += alike[: count - len(chosen)]
    rest = [one for one in (*below, *above) if one not in chosen]
    return chosen + rest[: count - len(chosen)]


def shuffled(rng: random.Random, right: str, wrong: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The options in a random order, and where the right one is."""
    options = sorted([right, *wrong])
    rng.shuffle(options)
    return tuple(options), options.index(right)


def is_sound(question: Question) -> bool:
    """Whether a question can be asked: different options, one of them right, none that could not be read."""
    options = [one.replace(" ", "").lower() for one in question.options]
    if not 3 <= len(options) <= OPTIONS or len(set(options)) < len(options) or not 0 <= question.right < len(options):
        return False
    return all(0 < len(one) <= 160 for one in question.options) and len(question.text) <= 1500
