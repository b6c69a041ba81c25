"""The training loop: a progress bar, two log files, and a state that is saved every two minutes."""

import csv
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from course.training.group import Group
from course.training.progress import progress_bar
from course.training.trainer import Run

SAVE_EVERY_SECONDS = 120
LOG_EVERY_STEPS = 25
LOG, VALIDATION_LOG = "log.csv", "validation.csv"


class Quality(Protocol):
    """The result of a validation run: the loss, and a metric for this kind of model."""

    @property
    def loss(self) -> float: ...
    @property
    def figure(self) -> float: ...


class Validation(Protocol):
    """Data for measuring a model at regular intervals."""

    figure: str  # the name of the metric in `Quality.figure`

    def measure(self, model: Any) -> Quality: ...


def train(
    trainer: Run,
    validation: Validation | None = None,
    validate_every: int | None = None,
    stop: Callable[[Any], bool] | None = None,
    log_every: int | None = None,
) -> None:
    """Train to the end, or until `stop` returns true; the state is saved in either case.

    Args:
        trainer: the run, which may be at any step.
        validation: measured every `validate_every` steps (None: once an epoch) and at the end.
        stop: called before every step and after the last one.
        log_every: the number of steps per row of the log (None: LOG_EVERY_STEPS).
    """
    import torch

    config, group, folder = trainer.config, trainer.group, trainer.folder
    validate_every = validate_every or trainer.steps_per_epoch
    log_every = log_every or LOG_EVERY_STEPS
    columns = ("step", "loss", "rate", "tokens_per_second", "seconds")
    figure = validation.figure if validation is not None else ""
    with (
        csv_log(folder / LOG, columns, trainer.step, group) as log,
        csv_log(folder / VALIDATION_LOG, ("step", "loss", figure), trainer.step, group) as validation_log,
        progress_bar(group) as progress,
    ):
        task = progress.add_task(
            "", total=trainer.total_steps, completed=trainer.step, epoch=1, loss=0.0, rate=0.0, figure=""
        )
        saved = started = time.monotonic()
        loss_sum, tokens = torch.zeros((), device=group.device), 0
        while not (stop is not None and stop(trainer)) and trainer.step < trainer.total_steps:
            loss, count = trainer.train_step()
            loss_sum += loss  # stays on the device: reading it would make the GPU wait
            tokens += count
            step, last = trainer.step, trainer.step == trainer.total_steps
            if step % log_every == 0 or last:
                mean = group.sum(loss_sum).item() / tokens
                now = time.monotonic()
                trainer.seconds += now - started
                speed, rate = tokens / (now - started), config.rate(step - 1, trainer.total_steps)
                log([step, f"{mean:.4f}", f"{rate:.2e}", round(speed), round(trainer.seconds)])
                epoch = min(config.epochs, 1 + step // trainer.steps_per_epoch)
                progress.update(task, completed=step, loss=mean, rate=speed, epoch=epoch)
                started, tokens = now, 0
                loss_sum.zero_()
                if now - saved > SAVE_EVERY_SECONDS:
                    trainer.save()
                    saved = now
            if validation is not None and group.leads and (step % validate_every == 0 or last):
                paused = time.monotonic()
                quality = validation.measure(trainer.model)
                validation_log([step, f"{quality.loss:.4f}", f"{quality.figure:.3f}"])
                progress.update(task, figure=f"{figure} {quality.figure:.3f}")
                started += time.monotonic() - paused
    trainer.save()


@contextmanager
def csv_log(path: Path, columns: Iterable[str], step: int, group: Group) -> Iterator[Any]:
    """Yield a function that writes a row to a log. Rows from an earlier part of the run are kept up to `step`."""
    if not group.leads:
        yield lambda row: None
        return
    kept = [row for row in read_log(path) if int(row[0]) <= step]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)

        def write(row: Iterable[Any]) -> None:
            writer.writerow(row)
            file.flush()

        write(columns)
        for row in kept:
            write(row)
        yield write


def read_log(path: Path) -> list[list[str]]:
    """Return the rows of a log, without its header; empty if there is no log yet."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file) if row and row[0].isdigit()]
