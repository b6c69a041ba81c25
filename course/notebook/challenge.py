"""Challenges after full marks: the fastest code, the longest sentence, the best model.

They earn no points; a list stores your best attempts. Each challenge calls one of your functions, checks its result,
measures it, and records the measurement in `.challenges.json` next to the notebook. Copy the file to compare your
results with other people's.
"""

import inspect
import random
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from course.errors import UserError
from course.notebook.kept import read_kept, write_kept
from course.notebook.timing import best_time
from course.training.short_german import joined_sentences

KEPT = ".challenges.json"
SHOWN = 5
MINUTES = 5
SIZES = (8, 4, 256, 32)  # B, H, T, d_k of the attention that is timed


@dataclass(frozen=True)
class Attempt:
    """One attempt at a challenge."""

    value: float
    note: str


class Leaderboard:
    """The attempts at one challenge, best first."""

    def __init__(self, name: str, unit: str, highest: bool = False, folder: str | Path = ".") -> None:
        self.name, self.unit, self.highest, self.path = name, unit, highest, Path(folder) / KEPT

    @property
    def attempts(self) -> list[Attempt]:
        """All recorded attempts, best first."""
        found = [
            Attempt(float(entry["value"]), str(entry["note"])) for entry in read_kept(self.path).get(self.name, [])
        ]
        return sorted(found, key=lambda attempt: attempt.value, reverse=self.highest)

    def enter(self, value: float, note: str) -> "Leaderboard":
        """Record an attempt. If the folder is read-only, nothing is recorded."""
        known = read_kept(self.path)
        known.setdefault(self.name, []).append(asdict(Attempt(round(value, 4), note)))
        write_kept(self.path, known)
        return self

    def __repr__(self) -> str:
        best = [f"{place}. {one.value:g} {self.unit}  {one.note}" for place, one in enumerate(self.attempts[:SHOWN], 1)]
        return "\n".join([f"{self.name}: your best attempts", *best])


def fastest_attention(attend: Callable[..., torch.Tensor], note: str, folder: str | Path = ".") -> Leaderboard:
    """Time an attention function against the plain formula; the value is the ratio of the times, so lower is better.

    Args:
        attend: takes q, k, v, each (B, H, T, d_k), and a causal mask (T, T), True where attention is forbidden, and
            returns (B, H, T, d_k). It must be written without ready-made attention.

    Raises:
        UserError: if its result is wrong, or its code uses a ready-made part.
    """
    from autograder.forbidden.rules import check_modules

    found, _ = check_modules({"attention": "import torch\n" + textwrap.dedent(inspect.getsource(attend))})
    if ready_made := [finding for _, finding in found if finding.forbidden]:
        raise UserError(f"this challenge is about your own code: {ready_made[0].what}")
    generator = torch.Generator().manual_seed(random.randrange(10**9))
    q, k, v = (torch.randn(SIZES, generator=generator) for _ in range(3))
    mask = torch.ones(SIZES[2], SIZES[2], dtype=torch.bool).triu(1)

    def plain() -> torch.Tensor:
        scores = (q @ k.mT / SIZES[3] ** 0.5).masked_fill(mask, float("-inf"))  # (B, H, T, T)
        return torch.softmax(scores, dim=-1) @ v

    with torch.no_grad():
        difference = (attend(q, k, v, mask) - plain()).abs().max().item()
        if not difference < 1e-4:
            raise UserError(f"the result is wrong: the largest difference is {difference:.2g}")
        times = [(best_time(lambda: attend(q, k, v, mask), 5), best_time(plain, 5)) for _ in range(3)]
    ratio = min(own / formula for own, formula in times)
    return Leaderboard("fastest attention", "of the formula's time", folder=folder).enter(ratio, note)


def longest_sentence(
    translate: Callable[[Sequence[str]], Sequence[str]], note: str, folder: str | Path = "."
) -> Leaderboard:
    """Translate longer and longer sentences from the small grammar; the value is the greatest length reached.

    Clauses are joined with "und". Ten new sentences of each length are generated. A length is reached if at least half
    of its translations are exactly correct; the challenge ends at the first length that is not reached.
    """
    longest, draw = 0, random.randrange(10**9)
    for clauses in range(1, 9):
        pairs = joined_sentences(10, clauses, seed=draw + clauses)
        written = translate([german for german, _ in pairs])
        right = [german for (german, english), own in zip(pairs, written, strict=True) if own == english]
        if len(right) < len(pairs) / 2:
            break
        longest = max(len(german.split()) for german in right)
    return Leaderboard("longest sentence", "words", highest=True, folder=folder).enter(longest, note)


def best_tale_model(train: Callable[..., Any], note: str, task: Any = None, folder: str | Path = ".") -> Leaderboard:
    """Train a language model on the fairy tales for five minutes; the value is its bits per character on new tales.

    Args:
        train: takes the task (`small_task("language model")`: `tokens`, `sizes`, `batch(step, seed)`) and the deadline
            (a value of `time.monotonic()`), and returns a model.
        task: a different task with `measure(model)`.

    Raises:
        UserError: if training took longer.
    """
    from course.training.variants.practice import small_task

    task = task or small_task("language model")
    end = time.monotonic() + 60 * MINUTES
    model = train(task, end)
    if (late := time.monotonic() - end) > 1:
        raise UserError(
            f"the training ended {late:.0f} seconds after its {MINUTES}-minute limit: check the time in each step"
        )
    return Leaderboard("fairy tales", "bits per character", folder=folder).enter(task.measure(model).figure, note)
