"""Helpers for the notebooks of the assignment `llm`: tales as tokens, and a model's bits per character on them.

`python -m course.llm` relearns the merges in `course/data/grimm.merges.json` with the solution's `bpe.train`.
"""

import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from course.errors import UserError, run_command
from course.location import course_folder
from course.modules import load_modules
from course.variants.tales import DATA, Tale, read_tales

if TYPE_CHECKING:
    import torch

WITH_STANDINS = ("bpe", "flash", "lm")
MERGES = "grimm.merges.json"
NUM_MERGES = 1791  # with 256 bytes and `END`, 2,048 tokens
END = "<|end|>"  # the special token before each tale


def load_standins() -> SimpleNamespace:
    """Import the stand-ins: working code for cells that run before students have written anything."""
    return load_modules(course_folder() / "autograder" / "assignments" / "llm" / "standins", WITH_STANDINS)


def read_merges(folder: Path = DATA) -> list[tuple[int, int]]:
    """Return the merges that were learned from the 58 training tales.

    Raises:
        UserError: if they are missing or damaged.
    """
    try:
        return [(left, right) for left, right in json.loads((folder / MERGES).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"the merges {folder / MERGES} cannot be read: {error}") from error


def text_of(tale: Tale) -> str:
    """Return a tale as one text: its title and its paragraphs, one per line."""
    return "\n".join(tale.lines) + "\n"


def encode_tales(tales: list[Tale], tokenizer: Any) -> "list[torch.Tensor]":
    """Return the tokens of each tale, preceded by the special token `END`."""
    import torch

    return [torch.tensor(tokenizer.encode(END + text_of(tale))) for tale in tales]


def bits_per_character(model: Any, tales: list[Tale], tokens: "list[torch.Tensor]", T: int) -> float:
    """Return the bits per character that a language model from `lm.py` achieves on tales.

    Every token is predicted from at least T / 2 previous tokens, or from all of them if there are fewer.

    Args:
        tokens: the result of `encode_tales`.
        T: the number of tokens that the model reads at once.
    """
    import torch
    import torch.nn.functional as F

    nats, training = 0.0, model.training
    model.eval()
    with torch.no_grad():
        for ids in tokens:
            known = 1  # the index of the next token to measure; the first is never predicted
            while known < len(ids):
                start = max(0, known - T // 2)
                window = ids[start : start + T + 1]
                logits = model(window[None, :-1])[0][0, known - start - 1 :]
                nats += F.cross_entropy(logits, window[known - start :], reduction="sum").item()
                known = start + len(window)
    model.train(training)
    return nats / math.log(2) / sum(tale.characters for tale in tales)


def repetitions(period: "torch.Tensor", T: int, generator: "torch.Generator | None" = None) -> "torch.Tensor":
    """Return random tokens, (B, T), from a vocabulary of 64. Each row repeats with its own `period` of at most 24."""
    import torch

    return torch.randint(64, (len(period), 24), generator=generator).gather(1, torch.arange(T) % period)


def main() -> int:
    bpe = load_modules(course_folder() / "solutions" / "llm", ("bpe",)).bpe
    merges = bpe.train("".join(text_of(tale) for tale in read_tales("train")), NUM_MERGES)
    (DATA / MERGES).write_text(json.dumps(merges) + "\n", encoding="utf-8", newline="\n")
    print(f"wrote {len(merges):,} merges, the last one {merges[-1]}")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
