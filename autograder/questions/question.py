"""A question with one right answer, and how its options are chosen so that their look tells nothing."""

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from autograder.questions.calls import Call
from autograder.questions.program import Own

OPTIONS = 4  # of a question; three are enough where a program has no more to offer
LETTERS = "ABCD"
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
    maps: tuple[tuple[str, Map], ...] = ()  # pictures: a title and rows of numbers
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
        return {"id": self.id, "letter": self.letter, **asdict(self)}


@dataclass(frozen=True)
class Draft:
    """A question for which wrong options are still to be chosen."""

    text: str
    right: str
    pool: Mapping[str, str]  # wrong options, each with what a run shows about it
    because: str
    lines: Sequence[Own]  # that it is about
    call: Call | None = None  # whose functions are shown, besides those of the lines
    maps: tuple[tuple[str, Map], ...] = ()
    key: Callable[[str], Any] = len


def pick(rng, right, pool, key):  # type: ignore
    pool = list(dict.fromkeys(pool))
    count = min(OPTIONS - 1, len(pool))
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
