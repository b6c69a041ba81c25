"""The data and the optimizers of the small models of `llm`, and the run that trains them."""

import json
import math
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from course.llm import END, bits_per_character, encode_tales, load_standins, read_merges, repetitions
from course.modules import load_modules, reference_or_own
from course.training.settings import TrainConfig
from course.training.trainer import Run
from course.training.variants.task import Measured, Task
from course.variants.tales import read_tales
from course.variants.trained import BYTE_PAIRS

if TYPE_CHECKING:
    import torch

TEST_PERIOD = 19  # of the repetitions for measuring; training has periods from 8 to 24


def load_llm() -> SimpleNamespace:
    """Import the modules for training: the reference, if it exists, else the students' modules."""
    return load_modules(reference_or_own("llm"), ("lm", "optim", "lens"))


class ModernTask(Task):
    """The data of a model from `lm.py`, and the optimizers that train it."""

    model_class = "lm.LanguageModel"

    @abstractmethod
    def optimizers(self, model: Any, optim: Any) -> list[Any]:
        """Return optimizers from the module `optim`, with their highest learning rates."""


class ModernTales(ModernTask):
    """Windows of byte-pair tokens from the 58 training tales, and the four held-out tales."""

    figure = "bits"
    title = "bits per character (four held-out tales)"
    windows = 8  # per batch
    T = 256

    def __init__(self, state: Path) -> None:
        import torch

        merges = read_merges()
        self.path = state / BYTE_PAIRS
        text = json.dumps({"merges": merges, "special": [END]}) + "\n"
        self.path.write_text(text, encoding="utf-8", newline="\n")
        tokenizer = load_standins().bpe.Tokenizer(merges, [END])
        self.vocab_size = len(tokenizer.pieces)
        self.tokens = torch.cat(encode_tales(read_tales("train"), tokenizer))
        self.held_out = read_tales("val")
        self.held_out_tokens = encode_tales(self.held_out, tokenizer)

    @property
    def sizes(self) -> dict[str, Any]:
        return {
            "vocab_size": self.vocab_size,
            "d_model": 192,
            "num_layers": 4,
            "num_heads": 6,
            "num_kv_heads": 2,
            "d_ff": 608,
            "dropout": 0.25,
        }

    @property
    def steps_per_epoch(self) -> int:
        return len(self.tokens) // (self.windows * self.T)

    def batch(self, step: int, seed: int) -> "tuple[tuple[torch.Tensor, ...], int]":
        """Return tokens, (windows, T + 1), and a mask, (windows, T), that is True everywhere: all predictions count."""
        import torch

        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        starts = torch.randint(len(self.tokens) - self.T, (self.windows,), generator=generator)
        tokens = self.tokens[starts[:, None] + torch.arange(self.T + 1)]
        return (tokens, torch.ones(self.windows, self.T, dtype=torch.bool)), self.windows * self.T

    def measure(self, model: Any) -> Measured:
        bits = bits_per_character(model, self.held_out, self.held_out_tokens, self.T)
        characters = sum(tale.characters for tale in self.held_out)
        predictions = sum(len(ids) - 1 for ids in self.held_out_tokens)
        return Measured(bits * math.log(2) * characters / predictions, bits)

    def optimizers(self, model: Any, optim: Any) -> list[Any]:
        """Return Muon for the matrices of the layers, and AdamW for everything else."""
        matrices, others = optim.split(model)
        return [optim.Muon(matrices, lr=0.02), optim.AdamW(others, lr=3e-3)]

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)


class Repetitions(ModernTask):
    """Random tokens that repeat; only predictions in the repetition count."""

    figure = "score"
    title = "induction score of the best head"
    rows, T = 16, 48  # of a batch
    steps_per_epoch = 100

    def __init__(self, num_layers: int) -> None:
        self.num_layers = num_layers

    @property
    def sizes(self) -> dict[str, Any]:
        return {
            "vocab_size": 64,
            "d_model": 64,
            "num_layers": self.num_layers,
            "num_heads": 4,
            "num_kv_heads": 4,
            "d_ff": 64,
        }

    def batch(self, step: int, seed: int) -> "tuple[tuple[torch.Tensor, ...], int]":
        """Return tokens, (rows, T + 1), and a mask of the predictions that count, (rows, T)."""
        import torch

        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        period = torch.randint(8, 25, (self.rows, 1), generator=generator)
        counted = torch.arange(1, self.T + 1) >= period
        return (repetitions(period, self.T + 1, generator), counted), int(counted.sum())

    def optimizers(self, model: Any, optim: Any) -> list[Any]:
        return [optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), weight_decay=0.01)]

    def measure(self, model: Any) -> Measured:
        found = look_back(model)
        return Measured(found.loss, float(found.scores.max()))


@dataclass(frozen=True)
class LookBack:
    """How well a model predicts repetitions in 32 test texts: the fraction `right`, and the head `scores`, (L, H)."""

    first_loss: float  # in the first period
    loss: float  # in the repetition
    right: float
    scores: "torch.Tensor"


def look_back(model: Any) -> LookBack:
    """Test a model from `lm.py` on repetitions of TEST_PERIOD random tokens."""
    import torch
    import torch.nn.functional as F

    lens = load_llm().lens
    tokens = repetitions(torch.full((32, 1), TEST_PERIOD), 2 * TEST_PERIOD, torch.Generator().manual_seed(1))
    model.eval()
    with torch.no_grad():
        logits, targets = model(tokens)[0][:, :-1], tokens[:, 1:]  # the last period - 1 of them are in the repetition
        losses = F.cross_entropy(logits.mT, targets, reduction="none")
        right = (logits.argmax(dim=-1) == targets)[:, TEST_PERIOD:].float().mean().item()
        scores = lens.induction_score(lens.run(model, tokens).weights, TEST_PERIOD)
    first, again = losses[:, : TEST_PERIOD - 1], losses[:, TEST_PERIOD:]
    return LookBack(first.mean().item(), again.mean().item(), right, scores)


@dataclass(frozen=True)
class Plateau(TrainConfig):
    """Settings in which the learning rate stays constant until halfway through the run, then falls linearly to zero."""

    def rate(self, step: int, total_steps: int) -> float:
        rising, falling = (step + 1) / self.warmup_steps, 2 * (total_steps - step) / total_steps
        return self.peak_rate * max(0.0, min(rising, falling, 1.0))


class Together:
    """Several optimizers that act as one."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for part in self.parts for group in part.param_groups]

    def zero_grad(self) -> None:
        for part in self.parts:
            part.zero_grad()

    def step(self) -> None:
        for part in self.parts:
            part.step()

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for part, saved in zip(self.parts, state["parts"], strict=True):
            part.load_state_dict(saved)


class ModernRun(Run):
    """The training run of a model from `lm.py`."""

    def __init__(self, model: Any, task: ModernTask, config: TrainConfig, folder: Path) -> None:
        """Start a run; each optimizer's learning rate is multiplied by the configuration's rate."""
        self.task = task
        optimizer = Together(*task.optimizers(model, load_llm().optim))
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
        super().__init__(model, optimizer, config, folder, task.steps_per_epoch)

    def begin_step(self) -> None:
        super().begin_step()
        for group in self.optimizer.param_groups:
            group["lr"] *= group["peak"]

    def train_step(self) -> "tuple[torch.Tensor, int]":
        import torch.nn.functional as F

        (tokens, counted), count = self.task.batch(self.step, self.config.seed)
        self.begin_step()
        logits, _ = self.model(tokens[:, :-1])  # (B, T, V)
        loss = F.cross_entropy(logits[counted], tokens[:, 1:][counted])
        self.update(loss)
        return loss.detach() * count, count
