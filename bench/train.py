"""Target tokens per second of a training step, against torch.nn.Transformer: `python -m bench.train`.

Both have the same configuration, first weights, batches, loss and optimizer, and take turns in one run, so their ratio
holds. On the CPU each has one thread, and time is that of the processor, so other work on the machine is not counted.
The tokens are random numbers; the lengths are those of short sentences.
"""

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from course.config import BOS, EOS, ModelConfig
from course.training.settings import TrainConfig

PEER = "torch.nn.Transformer"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--runs", type=int, default=7, help="counted runs of each (%(default)s)")
    add("--steps", type=int, default=2, help="steps in a run (%(default)s)")
    add("--device", default="cpu", choices=("cpu", "cuda"))
    add("--batch-tokens", type=int, default=2000)
    add("--vocab-size", type=int, default=4000)
    for name in ("d_model", "num_heads", "num_layers", "d_ff"):
        add("--" + name.replace("_", "-"), type=int, default=getattr(ModelConfig(1, 1), name), help="%(default)s")
    add("--compile", action="store_true", help="compiled models too (minutes)")
    return parser.parse_args()


def random_pairs(count: int, vocab_size: int) -> list[tuple[list[int], list[int]]]:
    import numpy as np

    rng = np.random.default_rng(1)
    lengths = rng.normal(9, 3.5, size=(count, 2)).clip(2, 40).astype(int)

    def tokens(length: int) -> list[int]:
        return [BOS, *rng.integers(4, vocab_size, length).tolist(), EOS]

    return [(tokens(source), tokens(target)) for source, target in lengths.tolist()]


def trainers(args: argparse.Namespace, config: ModelConfig, folder: Path) -> dict[str, Any]:
    """What is compared, by name."""
    import torch

    from bench.peers import torch_peer
    from course.checkpoint import build_model
    from course.modules import load_modules
    from course.training.group import Group
    from course.training.speed import fast_dropout, fused_attention, importable, initialise
    from course.training.trainer import Trainer

    cuda = args.device == "cuda"
    modules = load_modules()
    importable(modules)
    pairs = random_pairs(20_000, config.src_vocab_size)
    settings = TrainConfig(batch_tokens=args.batch_tokens)
    found = {}
    for bf16 in (False, True) if cuda else (False,):
        for compiled in (False, True) if args.compile else (False,):
            for name in ("course.train", "the modules as they are", PEER):
                torch.manual_seed(1)
                model = build_model(config, modules)
                initialise(model)
                if name == PEER:
                    model = torch_peer(model, config)
                elif name == "course.train":
                    if cuda:
                        fused_attention(model, modules.mha.MultiHeadAttention)
                    else:
                        fast_dropout(model)
                kind = name + (", bf16" if bf16 else "") + (", compiled" if compiled else "")
                found[kind] = Trainer(model, pairs, settings, folder, Group(device=args.device), bf16, compiled)
    return found


def measure(args: argparse.Namespace, config: ModelConfig, folder: Path) -> None:
    import torch

    clock = time.perf_counter if args.device == "cuda" else time.process_time
    runs: dict[str, list[float]] = {}
    losses: dict[str, float] = {}
    compared = trainers(args, config, folder)
    for run in range(args.runs + 2):
        for name, trainer in compared.items():
            started = clock()
            results = [trainer.train_step() for _ in range(args.steps)]
            if args.device == "cuda":
                torch.cuda.synchronize()
            tokens = sum(count for _, count in results)
            losses.setdefault(name, results[0][0].item() / results[0][1])
            if run > 1:  # the first rounds warm up
                runs.setdefault(name, []).append(tokens / (clock() - started))
    print(f"\ndropout {config.dropout_prob}, medians of {args.runs} runs of {args.steps} steps on {args.device}")
    print(f"{'':<44}{'tokens/s':>12}{'x ' + PEER:>24}{'first loss':>12}")
    for name, speeds in runs.items():
        peer = runs[PEER + name.removeprefix(name.partition(",")[0])]
        ratio = statistics.median(ours / theirs for ours, theirs in zip(speeds, peer, strict=True))
        print(f"{name:<44}{statistics.median(speeds):>12,.0f}{ratio:>24.2f}{losses[name]:>12.4f}")


def main() -> int:
    args = parse_arguments()
    from course.training.speed import keep_freed_memory

    keep_freed_memory()
    import torch

    torch.set_num_threads(1)
    sizes = {name: getattr(args, name) for name in ("d_model", "num_heads", "num_layers", "d_ff")}
    config = ModelConfig(args.vocab_size, args.vocab_size, **sizes)
    with tempfile.TemporaryDirectory() as folder:
        for dropout in (config.dropout_prob, 0.0):
            measure(args, replace(config, dropout_prob=dropout), Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
