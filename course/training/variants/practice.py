"""Small versions of the three models that learn within minutes, for the notebook on training."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from course.config import EOS
from course.location import checkpoints
from course.text import Tokenizer, pad
from course.training.variants.capitals import Capitals, encode_units, predict
from course.training.variants.digits import Recognition
from course.training.variants.tales import Tales
from course.translation.corpora import read_pairs
from course.variants.capitals import restore, units
from course.variants.tales import DATA
from course.variants.trained import TOKENIZER

if TYPE_CHECKING:
    import torch


class SmallTales(Tales):
    """A language model for fairy tales, with a third of a million weights, not counting its embeddings."""

    def __init__(self, beginning: str = "Once upon a time there was") -> None:
        super().__init__(checkpoints() / "grimm-lm", max_len=96, dropout=0.1)
        self.beginning = beginning

    @property
    def sizes(self) -> dict[str, Any]:
        return {**super().sizes, "d_model": 128, "num_layers": 2, "d_ff": 512}

    def sample(self, model: Any, new_tokens: int = 30) -> str:
        """Return the beginning and the model's continuation, sampled with a temperature of 0.7 and a fixed seed."""
        import torch

        tokens = torch.tensor([self.tokenizer.encode(self.beginning)[:-1]])
        generator = torch.Generator().manual_seed(1)
        model.eval()
        with torch.no_grad():
            for _ in range(min(new_tokens, self.max_len - tokens.size(1))):
                chances = torch.softmax(model(tokens)[:, -1] / 0.7, dim=-1)
                tokens = torch.cat([tokens, torch.multinomial(chances, 1, generator=generator)], dim=1)
        text = tokens[0].tolist()
        ends = [0, *(place + 1 for place, token in enumerate(text) if token == EOS), len(text)]
        return " / ".join(self.tokenizer.decode(text[start:end]) for start, end in pairwise(ends))

    def example(self) -> "tuple[tuple[torch.Tensor, ...], list[str]]":
        """Return an example whose attention can be drawn: the model's arguments, and the names of its positions."""
        import torch

        tokens = self.tokenizer.encode(self.beginning)[:-1]
        return (torch.tensor([tokens]),), self.tokenizer.pieces(tokens)


class SmallCapitals(Capitals):
    """A tagger that predicts capitals, trained on the course's 10,000 German sentences."""

    def __init__(self, sentence: str = "der hund des lehrers frisst am abend einen alten schuh.") -> None:
        sentences = [german for german, _ in read_pairs(DATA, "tatoeba-small")]
        held_out = [units(german) for german in sentences[::50]]
        self.training = [german for row, german in enumerate(sentences) if row % 50]
        self.prepare(self.training, held_out, Tokenizer(checkpoints() / "de-truecase" / TOKENIZER))
        self.sentence = sentence

    @property
    def sizes(self) -> dict[str, Any]:
        return {**super().sizes, "d_model": 64, "num_layers": 2, "d_ff": 256}

    def sample(self, model: Any) -> str:
        """Return the sentence with the capitals that the model predicts."""
        return restore(self.sentence, predict(model, [units(self.sentence)], self.tokenizer)[0])

    def example(self) -> "tuple[tuple[torch.Tensor, ...], list[str]]":
        """Return an example whose attention can be drawn: the model's arguments, and the names of its positions."""
        tokens, _ = encode_units(units(self.sentence), self.tokenizer)
        return pad([tokens]), self.tokenizer.pieces(tokens)


class Digits(Recognition):
    """The Vision Transformer for the digits, which is already small."""

    def sample(self, model: Any) -> str:
        """Return the model's predictions for the first twenty held-out digits; wrong predictions are in brackets."""
        import torch

        model.eval()
        with torch.no_grad():
            predictions = model(torch.from_numpy(self.held_out.images[:20])).argmax(dim=-1).tolist()
        right = self.held_out.labels[:20].tolist()
        return " ".join(
            str(prediction) if prediction == label else f"[{prediction}]"
            for prediction, label in zip(predictions, right, strict=True)
        )

    def example(self) -> "tuple[tuple[torch.Tensor, ...], list[str]]":
        """Return an example whose attention can be drawn: the model's arguments, and the names of its positions."""
        import torch

        positions = 1 + (self.side // self.sizes["patch_size"]) ** 2
        return (torch.from_numpy(self.held_out.images[:1]),), ["<cls>", *map(str, range(positions - 1))]


def update(
    model: Any,
    batch: "Sequence[torch.Tensor]",
    optimizer: Any,
    rate: float,
    max_norm: float,
    smoothing: float = 0.0,
    times: float = 1.0,
) -> float:
    """Perform a training step with torch's own functions, for runs without student code; return the loss.

    Args:
        smoothing: label smoothing for classifiers, whose batch is (inputs, labels). With 0, the model's own loss is
            used.
        times: a factor for the gradient of this batch, applied before clipping.
    """
    import torch
    import torch.nn.functional as F

    for settings in optimizer.param_groups:
        settings["lr"] = rate
    if smoothing:
        inputs, labels = batch
        loss = F.cross_entropy(model.train(True)(inputs), labels, label_smoothing=smoothing)
    else:
        loss = model.train(True).loss(*batch)
    model.zero_grad(set_to_none=True)
    torch.autograd.backward(times * loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step(closure=None)
    return float(loss.detach())


def look_back_only(model: Any) -> Any:
    """Add a causal mask to the padding mask in every layer of a tagger; return the model."""
    import torch

    def hide_later(block: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = dict(zip(("x", "mask"), args, strict=False)) | kwargs
        T = given["x"].size(1)
        later = torch.ones(1, T, T, dtype=torch.bool).triu(1)
        return (given["x"], later if given.get("mask") is None else later | given["mask"]), {}

    for block in model.blocks:
        block.register_forward_pre_hook(hide_later, with_kwargs=True)
    return model


class Bar:
    """A progress bar to which a loop passes its losses."""

    def __init__(self, tell: Any) -> None:
        self.tell, self.losses = tell, list[float]()

    def steps(self, total: int) -> Iterator[int]:
        """Yield the step numbers, 1 to `total`."""
        for step in range(1, total + 1):
            yield step
            if step % 5 == 0 or step == total:
                self.tell(step, self.mean())

    def mean(self, last: int = 20) -> float:
        """Return the mean of the last losses."""
        return float(np.mean(self.losses[-last:])) if self.losses else float("nan")


@contextmanager
def progress(total: int) -> Iterator[Bar]:
    """Show a bar with the loss and the remaining time during the `with` block."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("loss {task.fields[loss]:.3f}"), TimeRemainingColumn())
    with Progress(*columns) as shown:
        task = shown.add_task("", total=total, loss=float("nan"))
        yield Bar(lambda step, loss: shown.update(task, completed=step, loss=loss))


def smooth(losses: Sequence[float], width: int) -> tuple[list[int], list[float]]:
    """Return the last step and the mean of each group of `width` losses, as a curve without batch noise."""
    ends = range(width, len(losses) + 1, width)
    return list(ends), [float(np.mean(losses[end - width : end])) for end in ends]


def small_task(name: str) -> Any:
    """Return the task of a small model: "language model", "tagger" or "vision transformer".

    Raises:
        UserError: if there is no such model.
    """
    from course.errors import UserError

    kinds = {"language model": SmallTales, "tagger": SmallCapitals, "vision transformer": Digits}
    if name not in kinds:
        raise UserError(f"there is no model {name!r}; choose one of {', '.join(kinds)}")
    return kinds[name]()
