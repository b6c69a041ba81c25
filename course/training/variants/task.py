"""What a small model learns: its data, its batches and its measure, and the run that trains it."""

import json
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from course.training.group import Group
from course.training.settings import TrainConfig
from course.training.trainer import Trainer

if TYPE_CHECKING:
    import torch

REFERENCE = Path(__file__).resolve().parents[3] / "solutions" / "variants"
MODULES = ("layers", "heads", "language_model", "generate", "tagger", "vit", "training", "modern")


@dataclass(frozen=True)
class Measured:
    """What a validation found: the loss, and the figure by which this kind of model is judged."""

    loss: float
    figure: float


class Task(ABC):
    """The data of a model and everything that depends on its kind."""

    model_class: str  # "module.Class"
    figure: str  # what `Measured.figure` is, for the axis of the curve

    @property
    @abstractmethod
    def sizes(self) -> dict[str, Any]:
        """The arguments of the model's constructor."""

    @property
    @abstractmethod
    def steps_per_epoch(self) -> int:
        """How many batches hold about as much as the training data."""

    @abstractmethod
    def batch(self, step: int, seed: int) -> "tuple[tuple[torch.Tensor, ...], int]":
        """The arguments of `model.loss` at a step, which depend on step and seed alone, and the number of targets."""

    @abstractmethod
    def measure(self, model: Any) -> Measured:
        """How good a model is on data that is held out."""

    def save_files(self, folder: Path) -> None:
        """Write what a checkpoint needs besides weights and sizes."""


class TaskTrainer(Trainer):
    """A small model on its way. State, averaging and resuming are those of every run."""

    def __init__(self, model: Any, task: Task, config: TrainConfig, folder: Path, groups: list[dict[str, Any]]) -> None:
        import torch

        self.model, self.task, self.config, self.folder, self.group = model, task, config, folder, Group()
        self.optimizer = torch.optim.AdamW(groups, lr=config.peak_rate, betas=(0.9, 0.98), fused=True)
        self.step, self.seconds = 0, 0.0
        self.steps_per_epoch = task.steps_per_epoch
        self.total_steps = config.epochs * self.steps_per_epoch
        self.averaged: list[int] = []
        self.weight_sum: dict[str, torch.Tensor] = {}

    def train_step(self) -> "tuple[torch.Tensor, int]":
        """One update; gives the sum of the losses and the number of targets."""
        import torch

        config = self.config
        for settings in self.optimizer.param_groups:
            settings["lr"] = config.rate(self.step, self.total_steps)
        batch, count = self.task.batch(self.step, config.seed)
        # The random numbers of dropout depend on the step alone: a resumed run draws the same.
        torch.manual_seed(config.seed * 1_000_003 + self.step)
        self.model.train()
        loss = self.model.loss(*batch)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip_norm)
        self.optimizer.step()
        self.step += 1
        if self.step in config.averaged_steps(self.total_steps):
            self.add_to_average()
        return loss.detach() * count, count


def load_reference(folder: Path = REFERENCE) -> SimpleNamespace:
    """Import the eight modules from a folder."""
    import importlib

    sys.path.insert(0, str(folder))
    try:
        return SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(folder))


def build(model_class: str, sizes: dict[str, Any], modules: SimpleNamespace) -> Any:
    """A model with its first weights."""
    module, name = model_class.split(".")
    return getattr(getattr(modules, module), name)(**sizes)


def save_sizes(model_class: str, sizes: dict[str, Any], path: Path) -> None:
    """Write what `build` needs beside the weights."""
    path.write_text(json.dumps({"model": model_class, **sizes}, indent=2) + "\n", encoding="utf-8")
