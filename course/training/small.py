"""Small runs for a notebook, by the loop that made the checkpoint: stopped and gone on with as one likes.

The task that needs no data is to reverse a sequence of letters: a model that can do it has learnt where to look.
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
FIRST = 4  # behind <unk>, <pad>, <s> and </s>
MEASURED, CODE = "measured.csv", "code.txt"


class Letters:
    """A tokenizer whose tokens are the small letters; it does what a `course.text.Tokenizer` does."""

    vocab_size = FIRST + len(LETTERS)

    def encode(self, text: str) -> list[int]:
        """Token indices, BOS and EOS included; what is no letter from a to z becomes UNK."""
        return [BOS, *(FIRST + LETTERS.index(letter) if letter in LETTERS else UNK for letter in text), EOS]

    def decode(self, tokens: Sequence[int]) -> str:
        """The letters of token indices; the special tokens are left out."""
        return "".join(LETTERS[token - FIRST] for token in map(int, tokens) if token >= FIRST)

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """The written form of each token, for the axes of a heatmap."""
        special = {UNK: "<unk>", PAD: "<pad>", BOS: "<s>", EOS: "</s>"}
        return [special[token] if token < FIRST else LETTERS[token - FIRST] for token in map(int, tokens)]


def reversal_pairs(count: int, seed: int, longest: int = 10) -> list[Pair]:
    """Random sequences of 1 to `longest` letters, and the same backwards; both with BOS and EOS."""
    draw = random.Random(seed)
    pairs = []
    for _ in range(count):
        letters = [FIRST + draw.randrange(len(LETTERS)) for _ in range(draw.randint(1, longest))]
        pairs.append(([BOS, *letters, EOS], [BOS, *reversed(letters), EOS]))
    return pairs


def reversal_config(max_seq_length: int = 30) -> ModelConfig:
    """A model that is large enough to reverse ten letters: two layers with four heads of 16 features."""
    letters = Letters.vocab_size
    config = ModelConfig(letters, letters, d_model=64, num_heads=4, num_layers=2, d_ff=256)
    return replace(config, max_seq_length=max_seq_length, dropout_prob=0.0)


def count_exact(model: Any, pairs: Sequence[Pair]) -> int:
    """How many sources are turned into exactly their targets by greedy decoding."""
    from course.translation.decoding import greedy_decode

    found = greedy_decode(model, [source for source, _ in pairs])
    return sum(result == target[1:-1] for result, (_, target) in zip(found, pairs, strict=True))


def held_out_loss(model: Any, pairs: Sequence[Pair]) -> float:
    """The loss per target token, without label smoothing."""
    import torch
    import torch.nn.functional as F

    (src, src_lengths), (tgt, tgt_lengths) = (pad(side) for side in zip(*pairs, strict=True))
    model.eval()
    with torch.no_grad():
        logits = model(src=src, tgt=tgt[:, :-1], src_lengths=src_lengths, tgt_lengths=tgt_lengths - 1)
    return F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD).item()


def new_model(config: ModelConfig, modules: SimpleNamespace, seed: int = 1) -> Any:
    """A `Transformer` of these modules, with the first weights that a seed gives."""
    import torch

    from course.checkpoint import build_model
    from course.training.speed import initialise

    torch.manual_seed(seed)
    model = build_model(config, modules)
    initialise(model)
    return model


@dataclass(frozen=True)
class Curve:
    """What a run has shown so far."""

    steps: list[int]
    losses: list[float]  # per target token, each the mean since the step before
    measured: dict[int, float]  # step -> what `measure` gave
    done: bool  # whether the run is at its end


def train_small(
    trainer: Trainer,
    measure: Callable[[Any], float] | None = None,
    measure_every: int = 100,
    keep: Sequence[int] = (),
    log_every: int = 10,
) -> Curve:
    """Train to the end, or until the kernel is interrupted; then the next call goes on where this one stopped.

    The run lies in the trainer's folder. It begins anew if the code of the modules has changed since.

    Args:
        trainer: a new one; an earlier state in its folder is taken up.
        measure: what is measured of the model every `measure_every` steps, before the first and after the last.
        keep: the weights after these steps stay in the folder (`weights_after`).
        log_every: the number of steps that a point of the curve stands for.

    Raises:
        UserError: if the folder holds a run with other settings.
    """
    from course.checkpoint import save_weights

    folder = trainer.folder
    folder.mkdir(parents=True, exist_ok=True)
    _begin_anew_if_changed(trainer)
    if not trainer.resume():
        for earlier in folder.glob(_weights(folder, "*").name):
            earlier.unlink()
    elif trainer.step < trainer.total_steps:
        print(f"Going on after step {trainer.step:,}.")
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
        print(f"Stopped after step {trainer.step:,} of {trainer.total_steps:,}; run the cell again to go on.")
    rows = read_log(folder / LOG)
    measured = {int(row[0]): float(row[1]) for row in read_log(folder / MEASURED)}
    return Curve([int(row[0]) for row in rows], [float(row[1]) for row in rows], measured, done)


def weights_after(step: int, folder: Path) -> dict[str, Any]:
    """The weights that `train_small` kept after a step.

    Raises:
        UserError: if the run has not come so far.
    """
    from course.checkpoint import load_weights

    return load_weights(_weights(folder, step))


def _weights(folder: Path, step: int | str) -> Path:
    return folder / f"step-{step}.safetensors"


@contextmanager
def interrupt() -> Iterator[threading.Event]:
    """An interrupt (Kernel, Interrupt in a notebook, Ctrl-C in a terminal) sets the event and stops nothing by itself.

    So the step that is being computed is finished, and nothing of it is lost.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only there Python lets anyone listen
        yield asked
        return
    before = signal.signal(signal.SIGINT, lambda *_: asked.set())
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _begin_anew_if_changed(trainer: Trainer) -> None:
    """Remove the state of a run that other code has trained."""
    kinds = {type(module) for module in trainer.model.modules() if type(module).__module__ in students_modules()}
    texts = [Path(file).read_bytes() for file in sorted({kind.forward.__code__.co_filename for kind in kinds})]
    code, known = hashlib.sha256(b"\0".join(texts)).hexdigest(), trainer.folder / CODE
    if known.is_file() and known.read_text(encoding="utf-8") != code:
        print("The modules have changed since this run began: it begins anew.")
        (trainer.folder / STATE).unlink(missing_ok=True)
    known.write_text(code, encoding="utf-8")
