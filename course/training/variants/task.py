"""What a small model learns: its data, its batches and its measure, and the run that trains it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.training.settings import TrainConfig
from course.training.trainer import Run

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Measured:
    """What a validation found: the loss, and the figure by which this kind of model is judged."""

    loss: float
    figure: float


class Task(ABC):
    """The data of a model and everything that depends on its kind."""

    model_class: str  # "module.Class"
    figure: str  # what `Measured.figure` is, in a word
    title: str  # the same for the axis of a curve

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

    @property
    def files(self) -> tuple[Path, ...]:
        """What a checkpoint needs besides weights and sizes."""
        return ()


class SmallRun(Run):
    """A small model on its way."""

    def __init__(self, model: Any, task: Task, config: TrainConfig, folder: Path, groups: list[dict[str, Any]]) -> None:
        """Begin a run.

        Args:
            groups: the parameters, those that decay apart from those that do not.
        """
        import torch

        self.task = task
        optimizer = torch.optim.AdamW(groups, lr=config.peak_rate, betas=(0.9, 0.98), fused=True)
        super().__init__(model, optimizer, config, folder, task.steps_per_epoch)

    def train_step(self) -> "tuple[torch.Tensor, int]":
        batch, count = self.task.batch(self.step, self.config.seed)
        self.begin_step()
        loss = self.model.loss(*batch)
        self.update(loss)
        return loss.detach() * count, count
