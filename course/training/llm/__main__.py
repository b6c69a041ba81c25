"""Train a small model of the assignment `llm`: `python -m course.training.llm NAME --out FOLDER`.

Training can be stopped at any time; the same command then continues it, with the same result as an uninterrupted run.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from course.errors import run_command
from course.training.llm.tasks import ModernRun, ModernTales, ModernTask, Plateau, Repetitions, load_llm
from course.training.speed import fast_dropout, keep_freed_memory
from course.training.variants.task import train_to_checkpoint
from course.variants.trained import build

OF_TALES = Plateau(8, peak_rate=1.0, warmup_steps=20, label_smoothing=0)
OF_REPETITIONS = Plateau(20, peak_rate=1.0, warmup_steps=100, label_smoothing=0)
MODELS: dict[str, tuple[Callable[[Path], ModernTask], Plateau]] = {
    "grimm-modern": (ModernTales, OF_TALES),
    "induction": (lambda state: Repetitions(2), OF_REPETITIONS),
    "induction-1-layer": (lambda state: Repetitions(1), OF_REPETITIONS),
}


def main(arguments: list[str] | None = None) -> int:
    import torch

    parser = argparse.ArgumentParser(
        prog="python -m course.training.llm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("name", choices=MODELS, help="the model to train")
    add("--out", type=Path, required=True, help="folder for the finished checkpoint")
    add("--state", type=Path, help="folder for the state of the run (default: runs/NAME)")
    add("--epochs", type=int, help="number of epochs (default: as for the shipped model)")
    args = parser.parse_args(arguments)
    if args.epochs is not None and args.epochs < 1:
        parser.error("--epochs must be at least 1")
    state = args.state or Path("runs") / args.name
    state.mkdir(parents=True, exist_ok=True)
    keep_freed_memory()
    torch.set_num_threads(1)  # with more threads, the result would depend on their number
    make_task, config = MODELS[args.name]
    config = replace(config, epochs=args.epochs or config.epochs)
    task = make_task(state)
    torch.manual_seed(config.seed)
    model = build(task.model_class, task.sizes, load_llm())
    fast_dropout(model)
    run = ModernRun(model, task, config, state)
    train_to_checkpoint(run, task, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
