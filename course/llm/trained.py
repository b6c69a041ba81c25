"""The trained models of the assignment `llm`: a modern language model of fairy tales, and models of repeated tokens."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from course.checkpoint import fill, load_weights
from course.config import CHECKPOINTS, CONFIG, WEIGHTS
from course.errors import UserError
from course.modules import ROOT, load_modules
from course.variants.tales import Tale

if TYPE_CHECKING:
    import torch

MODULES = ("bpe", "flash", "lm", "optim", "lens", "quantise", "speculative")
STANDINS = ROOT / "autograder" / "assignments" / "llm" / "standins"
MERGES = "merges.json"
END = "<|end|>"  # the special token before each tale


def load_llm() -> SimpleNamespace:
    """Import the modules of the solution if there is one, else the stand-ins."""
    solution = ROOT / "solutions" / "llm"
    return _load(solution) if solution.is_dir() else load_standins()


def load_standins() -> SimpleNamespace:
    """Import the stand-ins: working models for cells that run before anything is written."""
    return _load(STANDINS)


def _load(folder: Path) -> SimpleNamespace:
    """Import the modules that are in a folder; not every module has a stand-in."""
    return load_modules(folder, tuple(name for name in MODULES if (folder / f"{name}.py").is_file()))


def read_merges(name: str = "grimm-modern") -> list[tuple[int, int]]:
    """Return the merges of a checkpoint's tokenizer.

    Raises:
        UserError: if they are missing or damaged.
    """
    path = CHECKPOINTS / name / MERGES
    try:
        return [(left, right) for left, right in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"the merges {path} cannot be read: {error}") from error


def load_model(name: str, modules: SimpleNamespace) -> Any:
    """Return a trained `LanguageModel` of the given modules, in evaluation mode.

    Raises:
        UserError: if a file is missing or damaged, or the weights do not fit.
    """
    folder = CHECKPOINTS / name
    try:
        sizes = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the configuration of {folder}: {error}") from error
    model = modules.lm.LanguageModel(modules.lm.Config(**sizes | {"windows": tuple(sizes["windows"])}))
    fill(model, load_weights(folder / WEIGHTS), folder)
    return model.eval()


def text_of(tale: Tale) -> str:
    """A tale as one text: its title and its paragraphs, a line each."""
    return "\n".join(tale.lines) + "\n"


def encode_tales(tales: list[Tale], tokenizer: Any) -> "list[torch.Tensor]":
    """The tokens of each tale, after the special token `END`."""
    import torch

    return [torch.tensor(tokenizer.encode(END + text_of(tale))) for tale in tales]


def bits_per_character(model: Any, tales: list[Tale], tokens: "list[torch.Tensor]", T: int) -> float:
    """Bits per character of a language model on tales.

    Every token is predicted from at least T / 2 tokens before it, as far as the tale has them.
    """
    import math

    import torch
    import torch.nn.functional as F

    nats, training = 0.0, model.training
    model.eval()
    with torch.no_grad():
        for ids in tokens:
            read = 1  # the tokens that have been predicted, and the first one
            while read < len(ids):
                start = max(0, read - T // 2)
                window = ids[start : start + T + 1]
                logits = model(window[None, :-1])[0][0, read - start - 1 :]
                nats += F.cross_entropy(logits, window[read - start :], reduction="sum").item()
                read = start + len(window)
    model.train(training)
    return nats / math.log(2) / sum(tale.characters for tale in tales)


def repeats(B: int, T: int, period: int, kinds: int, generator: "torch.Generator") -> "torch.Tensor":
    """Random tokens that repeat after `period` positions, (B, T)."""
    import torch

    once = torch.randint(kinds, (B, period), generator=generator)
    return once.repeat(1, -(-T // period))[:, :T]


def folder_of(name: str) -> Path:
    """The folder of a checkpoint."""
    return CHECKPOINTS / name
