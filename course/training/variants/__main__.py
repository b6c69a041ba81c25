"""Train a small model of the assignment `variants`: `python -m course.training.variants NAME --out FOLDER`.

Training can be stopped at any time; the same command then continues it, with the same result as an uninterrupted run.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from course.errors import run_command
from course.training.settings import TrainConfig
from course.training.speed import fast_dropout, keep_freed_memory
from course.training.variants.task import SmallRun, Task, train_to_checkpoint
from course.variants.trained import build, load_variants

WEIGHT_DECAY = 0.1
SETTINGS = {
    "grimm-lm": TrainConfig(20, peak_rate=1.5e-3, warmup_steps=100, label_smoothing=0, average=10, average_every=20),
    "de-truecase": TrainConfig(2, peak_rate=1.5e-3, warmup_steps=300, label_smoothing=0, average=8, average_every=25),
    "digits-vit": TrainConfig(100, peak_rate=2e-3, warmup_steps=100, label_smoothing=0, average=8, average_every=10),
    "digits-vit-canvas": TrainConfig(
        300, peak_rate=2e-3, warmup_steps=100, label_smoothing=0, average=8, average_every=10
    ),
}


def make_task(name: str, state: Path, corpus_dir: Path | None) -> Task:
    """Return the data of a model; a tokenizer trained for it is stored in the folder `state`."""
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

    parser = argparse.ArgumentParser(
        prog="python -m course.training.variants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("name", choices=SETTINGS, help="the model to train")
    add("--corpus-dir", type=Path, help="folder with tatoeba.*.tsv.gz, for de-truecase; the others need none")
    add("--out", type=Path, required=True, help="folder for the finished checkpoint")
    add("--state", type=Path, help="folder for the state of the run (default: runs/NAME)")
    add("--epochs", type=int, help="number of epochs (default: as for the shipped model)")
    add("--threads", type=int, help="CPU threads (default: all CPUs)")
    args = parser.parse_args(arguments)
    for option in ("epochs", "threads"):
        if getattr(args, option) is not None and getattr(args, option) < 1:
            parser.error(f"--{option} must be at least 1")
    state = args.state or Path("runs") / args.name
    state.mkdir(parents=True, exist_ok=True)
    keep_freed_memory()
    if args.threads:
        torch.set_num_threads(args.threads)
    config = SETTINGS[args.name]
    config = replace(config, epochs=args.epochs or config.epochs)
    task, modules = make_task(args.name, state, args.corpus_dir), load_variants()
    torch.manual_seed(config.seed)
    model = build(task.model_class, task.sizes, modules)
    fast_dropout(model)
    run = SmallRun(model, task, config, state, modules.training.parameter_groups(model, WEIGHT_DECAY))
    train_to_checkpoint(run, task, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
