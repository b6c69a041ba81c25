"""The task of a small model (data, batches, metric), and the run that trains it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.config import WEIGHTS
from course.training.curves import draw_curves
from course.training.loop import train
from course.training.settings import TrainConfig
from course.training.trainer import Run
from course.variants.trained import save_sizes

if TYPE_CHECKING:
    import torch

VALIDATIONS = 16  # per run


@dataclass(frozen=True)
class Measured:
    """The result of a validation run: the loss, and a metric for this kind of model."""

    loss: float
    figure: float


class Task(ABC):
    """The data of a model and everything else that depends on its kind."""

    model_class: str  # "module.Class"
    figure: str  # the name of the metric in `Measured.figure`
    title: str  # its title on the axis of a curve

    @property
    @abstractmethod
    def sizes(self) -> dict[str, Any]:
        """The arguments of the model's constructor."""

    @property
    @abstractmethod
    def steps_per_epoch(self) -> int:
        """The number of batches that together contain about as much data as the training set."""

    @abstractmethod
    def batch(self, step: int, seed: int) -> "tuple[tuple[torch.Tensor, ...], int]":
        """Return the arguments of `model.loss`, which depend only on `step` and `seed`, and the number of targets."""

    @abstractmethod
    def measure(self, model: Any) -> Measured:
        """Measure a model on held-out data."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that a checkpoint needs in addition to its weights and sizes."""
        return ()


class SmallRun(Run):
    """The training run of a small model."""

    def __init__(self, model: Any, task: Task, config: TrainConfig, folder: Path, groups: list[dict[str, Any]]) -> None:
        """Start a run.

        Args:
            groups: the parameters, with and without weight decay.
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


def train_to_checkpoint(run: Run, task: Task, out: Path) -> None:
    """Continue a run to its end, and write its checkpoint."""
    run.resume()
    parameters = sum(parameter.numel() for parameter in run.model.parameters())
    print(f"{parameters:,} parameters, {run.total_steps:,} steps, from step {run.step:,}", flush=True)
    train(run, task, validate_every=max(1, run.total_steps // VALIDATIONS))
    write_checkpoint(run, task, out)


def write_checkpoint(run: Run, task: Task, out: Path) -> None:
    """Write the checkpoint of a finished run with all its files, and print the model's quality."""
    from course.checkpoint import save_checksums, save_weights

    run.finish()
    out.mkdir(parents=True, exist_ok=True)
    save_sizes(task.model_class, task.sizes, out)
    for path in task.files:
        (out / path.name).write_bytes(path.read_bytes())
    save_weights(run.model, out / WEIGHTS)
    save_checksums(out)
    draw_curves(run.folder, out / "curves.svg", task.title, "loss")
    measured = task.measure(run.model)
    print(f"{task.title}: {measured.figure:.3f}, loss {measured.loss:.4f} (the finished checkpoint)")
    print(f"wrote {out} after {run.seconds / 60:.0f} minutes of training")
