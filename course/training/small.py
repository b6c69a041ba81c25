"""Small training runs for a notebook, with the loop that trained the checkpoint; they can be stopped and continued.

The example task, which needs no data, is to reverse a sequence of letters: it requires learning where to attend.
"""

import hashlib
import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from course.config import BOS, EOS, PAD, UNK, ModelConfig
from course.modules import students_modules
from course.text import Pair, pad
from course.training.loop import LOG, csv_log, read_log, train
from course.training.trainer import STATE, Trainer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIRST = 4  # after <unk>, <pad>, <s> and </s>
MEASURED, CODE = "measured.csv", "code.txt"


class Letters:
    """A tokenizer whose tokens are the lower-case letters, with the interface of `course.text.Tokenizer`."""

    vocab_size = FIRST + len(LETTERS)

    def encode(self, text: str) -> list[int]:
        """Return token indices with BOS and EOS; any character except a to z becomes UNK."""
        return [BOS, *(FIRST + LETTERS.index(letter) if letter in LETTERS else UNK for letter in text), EOS]

    def decode(self, tokens: Sequence[int]) -> str:
        """Convert token indices to letters, without special tokens."""
        return "".join(LETTERS[token - FIRST] for token in map(int, tokens) if token >= FIRST)

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return the string of each token, for the axes of a heatmap."""
        special = {UNK: "<unk>", PAD: "<pad>", BOS: "<s>", EOS: "</s>"}
        return [special[token] if token < FIRST else LETTERS[token - FIRST] for token in map(int, tokens)]


def reversal_pairs(count: int, seed: int, longest: int = 10) -> list[Pair]:
    """Return random sequences of 1 to `longest` letters and their reversals, each with BOS and EOS."""
    draw = random.Random(seed)
    pairs = []
    for _ in range(count):
        letters = [FIRST + draw.randrange(len(LETTERS)) for _ in range(draw.randint(1, longest))]
        pairs.append(([BOS, *letters, EOS], [BOS, *reversed(letters), EOS]))
    return pairs


def reversal_config(max_seq_length: int = 30) -> ModelConfig:
    """Return a model size sufficient to reverse ten letters: two layers with four heads of 16 features."""
    letters = Letters.vocab_size
    config = ModelConfig(letters, letters, d_model=64, num_heads=4, num_layers=2, d_ff=256)
    return replace(config, max_seq_length=max_seq_length, dropout_prob=0.0)


def count_exact(model: Any, pairs: Sequence[Pair]) -> int:
    """Count the sources whose greedy translation is exactly the target."""
    from course.translation.decoding import greedy_decode

    decoded = greedy_decode(model, [source for source, _ in pairs])
    return sum(result == target[1:-1] for result, (_, target) in zip(decoded, pairs, strict=True))


def held_out_loss(model: Any, pairs: Sequence[Pair]) -> float:
    """Return the loss per target token, without label smoothing."""
    import torch
    import torch.nn.functional as F

    (src, src_lengths), (tgt, tgt_lengths) = (pad(side) for side in zip(*pairs, strict=True))
    model.eval()
    with torch.no_grad():
        logits = model(src=src, tgt=tgt[:, :-1], src_lengths=src_lengths, tgt_lengths=tgt_lengths - 1)
    return F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD).item()


def new_model(config: ModelConfig, modules: SimpleNamespace, seed: int = 1) -> Any:
    """Build a `Transformer` from these modules, with weights initialised from a seed."""
    import torch

    from course.checkpoint import build_model
    from course.training.speed import initialise

    torch.manual_seed(seed)
    model = build_model(config, modules)
    initialise(model)
    return model


@dataclass(frozen=True)
class Curve:
    """The results of a run so far."""

    steps: list[int]
    losses: list[float]  # per target token, each the mean since the previous entry
    measured: dict[int, float]  # step -> result of `measure`
    done: bool  # whether the run is finished


def train_small(
    trainer: Trainer,
    measure: Callable[[Any], float] | None = None,
    measure_every: int = 100,
    keep: Sequence[int] = (),
    log_every: int = 10,
) -> Curve:
    """Train to the end, or until the kernel is interrupted; the next call continues where this one stopped.

    The state is in the trainer's folder. The run restarts if the code of the modules has changed.

    Args:
        trainer: a new trainer; an earlier state in its folder is resumed.
        measure: called with the model before the first step, every `measure_every` steps, and after the last step.
        keep: the weights after these steps are kept in the folder (`weights_after`).
        log_every: the number of steps per point of the curve.

    Raises:
        UserError: if the folder contains a run with different settings.
    """
    from course.checkpoint import save_weights

    folder = trainer.folder
    folder.mkdir(parents=True, exist_ok=True)
    _begin_anew_if_changed(trainer)
    if not trainer.resume():
        for earlier in folder.glob(_weights(folder, "*").name):
            earlier.unlink()
    elif trainer.step < trainer.total_steps:
        print(f"Continuing after step {trainer.step:,}.")
    with (
        interrupt() as interrupted,
        csv_log(folder / MEASURED, ("step", "measured"), trainer.step - 1, trainer.group) as log,
    ):

        def look(trainer: Trainer) -> bool:
            step = trainer.step
            if step in keep:
                save_weights(trainer.model, _weights(folder, step))
            if measure is not None and (step % measure_every == 0 or step == trainer.total_steps):
                log([step, measure(trainer.model)])
            return interrupted.is_set()

        train(trainer, stop=look, log_every=log_every)
    done = trainer.step == trainer.total_steps
    if not done:
        print(f"Stopped after step {trainer.step:,} of {trainer.total_steps:,}; run the cell again to continue.")
    rows = read_log(folder / LOG)
    measured = {int(row[0]): float(row[1]) for row in read_log(folder / MEASURED)}
    return Curve([int(row[0]) for row in rows], [float(row[1]) for row in rows], measured, done)


def weights_after(step: int, folder: Path) -> dict[str, Any]:
    """Return the weights that `train_small` kept after a step.

    Raises:
        UserError: if the run has not reached this step.
    """
    from course.checkpoint import load_weights

    return load_weights(_weights(folder, step))


def _weights(folder: Path, step: int | str) -> Path:
    return folder / f"step-{step}.safetensors"


@contextmanager
def interrupt() -> Iterator[threading.Event]:
    """Turn an interrupt (Kernel > Interrupt in a notebook, or Ctrl-C in a terminal) into an event.

    The current step is then finished, not lost.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # signal handlers work only in the main thread
        yield asked
        return
    before = signal.signal(signal.SIGINT, lambda *_: asked.set())
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _begin_anew_if_changed(trainer: Trainer) -> None:
    """Delete the state of a run that was trained with different code."""
    kinds = {type(module) for module in trainer.model.modules() if type(module).__module__ in students_modules()}
    texts = [Path(file).read_bytes() for file in sorted({kind.forward.__code__.co_filename for kind in kinds})]
    code, known = hashlib.sha256(b"\0".join(texts)).hexdigest(), trainer.folder / CODE
    if known.is_file() and known.read_text(encoding="utf-8") != code:
        print("The modules have changed since this run began: it starts again.")
        (trainer.folder / STATE).unlink(missing_ok=True)
    known.write_text(code, encoding="utf-8")
