"""Train a small model of the assignment `variants`: `python -m course.training.variants NAME --out FOLDER`.

Training can be stopped at any time and goes on where it was when the same command is given again.
"""

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from course.errors import run_command
from course.training.curves import draw_curves
from course.training.loop import train
from course.training.settings import TrainConfig
from course.training.speed import fast_dropout, keep_freed_memory
from course.training.variants.task import Measured, Task, TaskTrainer, build, load_reference, save_sizes

WEIGHT_DECAY = 0.1
CONFIG = "config.json"


@dataclass(frozen=True)
class Shown:
    """A measure in the words of the loop."""

    loss: float
    bleu: float


class Checked:
    """The validation of a task, as the loop wants it."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def measure(self, model: Any) -> Shown:
        found: Measured = self.task.measure(model)
        return Shown(found.loss, found.figure)


SETTINGS = {
    "grimm-lm": TrainConfig(20, peak_rate=1.5e-3, warmup_steps=100, label_smoothing=0, average=10, average_every=20),
    "de-truecase": TrainConfig(4, peak_rate=1.5e-3, warmup_steps=300, label_smoothing=0, average=8, average_every=25),
    "digits-vit": TrainConfig(100, peak_rate=2e-3, warmup_steps=100, label_smoothing=0, average=8, average_every=10),
    "digits-vit-canvas": TrainConfig(
        125, peak_rate=2e-3, warmup_steps=100, label_smoothing=0, average=8, average_every=10
    ),
}


def make_task(name: str, state: Path, corpus_dir: Path | None) -> Task:
    """The data of a model; what is made from it for good (a tokenizer) stays in the folder `state`."""
    if name == "grimm-lm":
        from course.training.variants.tales import Tales

        return Tales(state)
    if name == "de-truecase":
        from course.training.variants.capitals import Capitals

        return Capitals(state, corpus_dir)
    from course.training.variants.digits import Recognition, Search

    return Recognition() if name == "digits-vit" else Search()


def main(arguments: list[str] | None = None) -> int:
    import torch

    from course.checkpoint import save_checksums, save_weights

    parser = argparse.ArgumentParser(prog="python -m course.training.variants", description=__doc__)
    add = parser.add_argument
    add("name", choices=SETTINGS)
    add("--corpus-dir", type=Path)
    add("--out", type=Path, required=True)
    add("--state", type=Path)
    add("--epochs", type=int)
    add("--threads", type=int)
    args = parser.parse_args(arguments)
    state = args.state or Path("runs") / args.name
    state.mkdir(parents=True, exist_ok=True)
    keep_freed_memory()
    if args.threads:
        torch.set_num_threads(args.threads)
    task, config = make_task(args.name, state, args.corpus_dir), SETTINGS[args.name]
    if args.epochs:
        config = replace(config, epochs=args.epochs)
    torch.manual_seed(config.seed)
    modules = load_reference()
    model = build(task.model_class, task.sizes, modules)
    fast_dropout(model)
    trainer = TaskTrainer(model, task, config, state, modules.training.parameter_groups(model, WEIGHT_DECAY))
    trainer.resume()
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {trainer.total_steps:,} steps", flush=True)
    train(trainer, Checked(task), validate_every=max(25, trainer.total_steps // 16))  # type: ignore[arg-type]
    trainer.finish()
    args.out.mkdir(parents=True, exist_ok=True)
    save_sizes(task.model_class, task.sizes, args.out / CONFIG)
    task.save_files(args.out)
    save_weights(model, args.out / "model.safetensors")
    save_checksums(args.out)
    draw_curves(state, args.out / "curves.svg")
    print(task.measure(model), trainer.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
