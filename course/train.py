"""Train a German-English Transformer: `python -m course.train --corpus-dir DIR --out FOLDER`.

The model is built from the project's own modules. Training can be stopped at any time and goes on where it was when
the same command is given again, with the same result as without the stop.
"""

import argparse
import csv
import ctypes
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from course.config import CONFIG, PAD, SOURCE_TOKENIZER, TARGET_TOKENIZER, WEIGHTS, ModelConfig
from course.errors import UserError, run_command
from course.text import Pair, Tokenizer, batch_by_length, pad

SAVE_EVERY_SECONDS = 120
LOG_EVERY_STEPS = 25

# The entries of the two configurations that are options of the command.
MODEL_OPTIONS = ("d_model", "num_heads", "num_layers", "d_ff", "dropout_prob")
TRAIN_OPTIONS = ("epochs", "batch_tokens", "peak_rate", "warmup_steps", "label_smoothing", "seed")


@dataclass(frozen=True)
class TrainConfig:
    """How to train. The learning rate rises linearly for `warmup_steps` and then falls linearly to zero."""

    epochs: int = 8
    batch_tokens: int = 2000
    peak_rate: float = 1.2e-3
    warmup_steps: int = 800
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    seed: int = 1

    def rate(self, step: int, total_steps: int) -> float:
        """The learning rate of a step, counted from 0."""
        rising = (step + 1) / self.warmup_steps
        falling = (total_steps - step) / max(1, total_steps - self.warmup_steps)
        return self.peak_rate * max(0.0, min(rising, falling))


def keep_freed_memory() -> None:
    """Stop glibc from giving large tensors back to the system at every step.

    Without this each step maps and clears the same pages again, which costs more than the arithmetic on a CPU.
    Elsewhere (macOS, Windows, musl) this does nothing.
    """
    try:
        libc = ctypes.CDLL("libc.so.6")
        m_trim_threshold, m_mmap_threshold = -1, -3  # malloc.h
        libc.mallopt(m_mmap_threshold, 1 << 30)
        libc.mallopt(m_trim_threshold, (1 << 31) - 1)
    except (OSError, AttributeError):
        pass


def fast_dropout(model: Any) -> None:
    """Let every Dropout of the model draw one random byte instead of one random float for each element.

    Random numbers were a quarter of a training step on the CPU. The probability becomes a multiple of 1/256, and
    the scale fits it exactly, so the expected value stays the same.
    """
    import torch
    from torch import nn

    class ByteDropout(nn.Dropout):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            dropped = round(self.p * 256)
            if not self.training or dropped == 0:
                return input
            words = torch.empty((input.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
            keep = words.view(torch.uint8)[: input.numel()].view(input.shape) >= dropped
            return input * keep.to(input.dtype).mul_(256 / (256 - dropped))

    for module in model.modules():
        if type(module) is nn.Dropout:
            module.__class__ = ByteDropout


def initialise(model: Any) -> None:
    """Xavier values for the linear maps; N(0, 1) for the embeddings.

    The embeddings are not scaled by sqrt(d_model), so smaller values would drown in the positional encoding.
    """
    from torch import nn

    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight)


class Trainer:
    """A training run: the data, the model, and the state that is saved between steps."""

    def __init__(self, model: Any, pairs: list[Pair], config: TrainConfig, folder: Path, device: str) -> None:
        import torch

        self.model, self.pairs, self.config, self.folder, self.device = model.to(device), pairs, config, folder, device
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=config.peak_rate, betas=(0.9, 0.98), eps=1e-9, fused=True
        )
        self.step = 0
        self.seconds = 0.0
        self.epoch_batches: tuple[int, list[list[int]]] | None = None
        self.steps_per_epoch = len(self.batches(0))
        self.total_steps = config.epochs * self.steps_per_epoch

    def batches(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch, cut to the number of the first epoch so that every epoch has as many."""
        if self.epoch_batches is None or self.epoch_batches[0] != epoch:
            batches = batch_by_length(self.pairs, self.config.batch_tokens, seed=self.config.seed * 1000 + epoch)
            self.epoch_batches = (epoch, batches)
        batches = self.epoch_batches[1]
        return batches[: self.steps_per_epoch] if epoch else batches

    def save(self) -> None:
        """Write the state; the file is replaced in one go, so a stop at any moment leaves a whole one."""
        import torch

        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "train_config": asdict(self.config),
            "rng": torch.get_rng_state(),
        }
        partial = self.folder / "state.partial"
        torch.save(state, partial)
        partial.replace(self.folder / "state.pt")

    def resume(self) -> bool:
        """Go back to the saved state, if there is one.

        Raises:
            UserError: if the state is damaged or belongs to another configuration. The number of epochs may change.
        """
        import torch

        path = self.folder / "state.pt"
        if not path.is_file():
            return False
        try:
            state = torch.load(path, weights_only=True, map_location=self.device)
            saved = dict(state["train_config"], epochs=self.config.epochs)
            if saved != asdict(self.config):
                raise UserError(f"{path} belongs to a run with other settings; give another --state folder")
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.seconds = state["step"], state["seconds"]
            torch.set_rng_state(state["rng"].cpu())
        except UserError:
            raise
        except Exception as error:  # whatever a damaged file raises
            reason = " ".join(str(error).split())
            raise UserError(f"cannot go on from {path}: {reason}. Delete it or give another --state folder") from error
        return True

    def train_step(self) -> tuple[float, int]:
        """One update. Returns the loss per target token and the number of target tokens."""
        import torch
        import torch.nn.functional as F

        config = self.config
        epoch, index = divmod(self.step, self.steps_per_epoch)
        batches = self.batches(epoch)
        # An epoch may come out a batch short; then its first batch serves again.
        batch = [self.pairs[pair] for pair in batches[index % len(batches)]]
        src, src_lengths = (tensor.to(self.device) for tensor in pad([source for source, _ in batch]))
        tgt, tgt_lengths = (tensor.to(self.device) for tensor in pad([target for _, target in batch]))
        for group in self.optimizer.param_groups:
            group["lr"] = config.rate(self.step, self.total_steps)
        self.model.train()
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.device == "cuda"):
            # Teacher forcing: the decoder reads all tokens but the last and predicts all but the first.
            logits = self.model(src=src, tgt=tgt[:, :-1], src_lengths=src_lengths, tgt_lengths=tgt_lengths - 1)
        loss = F.cross_entropy(
            logits.float().flatten(0, 1),  # (B, T_d, vocabulary) -> (B * T_d, vocabulary)
            tgt[:, 1:].flatten(),
            ignore_index=PAD,
            label_smoothing=config.label_smoothing,
        )
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip_norm)
        self.optimizer.step()
        self.step += 1
        return loss.item(), int(tgt_lengths.sum()) - len(batch)

    def run(self) -> None:
        """Train to the end, with a progress bar, a log file and a state saved every two minutes."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3f}  {task.fields[rate]:,.0f} tokens/s"),
            TimeRemainingColumn(),
        )
        log_path = self.folder / "log.csv"
        kept = read_log(log_path, self.step)
        with log_path.open("w", encoding="utf-8", newline="") as log_file, Progress(*columns) as progress:
            log = csv.writer(log_file)
            log.writerow(["step", "loss", "rate", "tokens_per_second", "seconds"])
            log.writerows(kept)
            task = progress.add_task("", total=self.total_steps, completed=self.step, epoch=1, loss=0.0, rate=0.0)
            saved = started = time.monotonic()
            loss_sum = tokens = 0.0
            while self.step < self.total_steps:
                loss, count = self.train_step()
                loss_sum, tokens = loss_sum + loss * count, tokens + count
                if self.step % LOG_EVERY_STEPS == 0 or self.step == self.total_steps:
                    now = time.monotonic()
                    self.seconds += now - started
                    speed, mean = tokens / (now - started), loss_sum / tokens
                    rate = self.config.rate(self.step - 1, self.total_steps)
                    log.writerow([self.step, f"{mean:.4f}", f"{rate:.2e}", round(speed), round(self.seconds)])
                    log_file.flush()
                    epoch = min(self.config.epochs, 1 + self.step // self.steps_per_epoch)
                    progress.update(task, completed=self.step, loss=mean, rate=speed, epoch=epoch)
                    started, loss_sum, tokens = now, 0.0, 0.0
                    if now - saved > SAVE_EVERY_SECONDS:
                        self.save()
                        saved = now
        self.save()


def read_log(path: Path, step: int) -> list[list[str]]:
    """The rows of an earlier part of the run, up to the step from which it goes on."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file) if row and row[0].isdigit() and int(row[0]) <= step]


def prepare_pairs(
    pairs: list[tuple[str, str]], folder: Path, vocab_size: int, max_tokens: int = 100
) -> tuple[list[Pair], Tokenizer, Tokenizer]:
    """Train the tokenizers (once; they stay in `folder`) and encode the sentence pairs."""
    tokenizers = []
    for side, name in enumerate((SOURCE_TOKENIZER, TARGET_TOKENIZER)):
        path = folder / name
        if path.is_file():
            tokenizers.append(Tokenizer(path))
        else:
            tokenizers.append(Tokenizer.train((pair[side] for pair in pairs), path, vocab_size))
    source, target = tokenizers
    encoded = [(source.encode(german), target.encode(english)) for german, english in pairs]
    return [pair for pair in encoded if max(map(len, pair)) <= max_tokens], source, target


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    model, train = ModelConfig(1, 1), TrainConfig()
    parser = argparse.ArgumentParser(
        prog="python -m course.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--corpus-dir", type=Path, help="folder with <name>.tsv.gz (without: fetched from upstream where possible)")
    add("--corpus", nargs="+", default=["tatoeba.train"], help="names of corpora to train on (%(default)s)")
    add("--out", type=Path, required=True, help="folder for the finished checkpoint")
    add("--state", type=Path, default=Path("runs/de-en"), help="folder for the state of the run (%(default)s)")
    add("--modules", type=Path, help="folder of the five modules (the reference)")
    add("--vocab-size", type=int, default=4000)
    for name in (*MODEL_OPTIONS, *TRAIN_OPTIONS):
        default = getattr(model if name in MODEL_OPTIONS else train, name)
        add("--" + name.replace("_", "-"), type=type(default), default=default, help="%(default)s")
    add("--threads", type=int, default=os.cpu_count(), help="CPU threads (%(default)s)")
    add("--device", choices=("cpu", "cuda"), help="cuda where there is one")
    args = parser.parse_args(arguments)
    for name in ("vocab_size", "epochs", "batch_tokens", "peak_rate", "warmup_steps", "threads"):
        if getattr(args, name) <= 0:
            parser.error(f"--{name.replace('_', '-')} must be more than 0, not {getattr(args, name)}")
    if not 0 <= args.label_smoothing < 1:
        parser.error(f"--label-smoothing must be from 0 up to, but not including, 1, not {args.label_smoothing}")
    return args


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    keep_freed_memory()
    import torch

    from course.checkpoint import build_model, save_checksums, save_weights
    from course.corpora import load_pairs
    from course.modules import load_modules

    config = ModelConfig(args.vocab_size, args.vocab_size, **{name: getattr(args, name) for name in MODEL_OPTIONS})
    train_config = TrainConfig(**{name: getattr(args, name) for name in TRAIN_OPTIONS})
    if args.device == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no CUDA device here; leave out --device cuda")
    device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_num_threads(args.threads)
    sentences = [pair for name in args.corpus for pair in load_pairs(name, args.corpus_dir)]
    if not sentences:
        raise UserError(f"there are no sentence pairs in {', '.join(args.corpus)}")
    args.state.mkdir(parents=True, exist_ok=True)
    pairs, source, target = prepare_pairs(sentences, args.state, args.vocab_size)
    if (source.vocab_size, target.vocab_size) != (args.vocab_size, args.vocab_size):
        raise UserError(f"{args.state} holds tokenizers of another --vocab-size; give another --state folder")
    torch.manual_seed(train_config.seed)
    model = build_model(config, load_modules(args.modules))
    initialise(model)
    if device == "cpu":
        fast_dropout(model)
    trainer = Trainer(model, pairs, train_config, args.state, device)
    trainer.resume()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"{len(pairs):,} pairs, {parameters:,} parameters, {trainer.total_steps:,} steps on {device}, "
        f"from step {trainer.step:,}",
        flush=True,
    )
    trainer.run()
    args.out.mkdir(parents=True, exist_ok=True)
    config.save(args.out / CONFIG)
    for name in (SOURCE_TOKENIZER, TARGET_TOKENIZER):
        (args.out / name).write_bytes((args.state / name).read_bytes())
    save_weights(model, args.out / WEIGHTS)
    save_checksums(args.out)
    print(f"wrote {args.out} after {trainer.seconds / 60:.0f} minutes of training")
    return 0


def command() -> int:
    """Run the console script `course-train`."""
    return run_command(main)


if __name__ == "__main__":
    sys.exit(command())
