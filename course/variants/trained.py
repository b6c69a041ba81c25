"""The trained models of `variants` and `llm`: language models, a tagger and Vision Transformers."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from course.checkpoint import fill, load_weights
from course.config import CONFIG, WEIGHTS
from course.errors import UserError
from course.location import checkpoints
from course.modules import load_modules, reference_or_own, standins_of, standins_with
from course.text import Tokenizer

MODULES = ("layers", "heads", "language_model", "generate", "tagger", "vit", "training", "modern")
TOKENIZER = "tokenizer.model"
BYTE_PAIRS = "tokenizer.json"  # the merges and special tokens of a byte-pair tokenizer
MODEL = "model"  # the configuration entry with the class, "module.Class"


class BytePairs:
    """A byte-pair tokenizer with the interface of `course.text.Tokenizer`: each text is enclosed in special tokens."""

    def __init__(self, path: Path) -> None:
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            merges = [(left, right) for left, right in stored["merges"]]
            special = stored["special"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"the tokenizer {path} is damaged: {error}") from error
        self.tokens = load_modules(standins_with("bpe"), ("bpe",)).bpe.Tokenizer(merges, special)
        self.end: int = self.tokens.special[special[0]]

    def encode(self, text: str) -> list[int]:
        """Return the token indices of a text, with `end` before and after it."""
        return [self.end, *self.tokens.encode(text), self.end]

    def decode(self, tokens: Iterable[int]) -> str:
        """Convert token indices to text, without `end`."""
        return str(self.tokens.decode([token for token in map(int, tokens) if token != self.end]))


@dataclass(frozen=True)
class TrainedModel:
    """A model with its weights, in evaluation mode."""

    model: Any
    sizes: dict[str, Any]  # the arguments of its constructor
    tokenizer: Any  # a `Tokenizer` or `BytePairs`, for models that read text; else None

    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of a language model, (B, T) -> (B, T, V), without the caches that the model may also return."""
        result = self.model(tokens)
        return result[0] if isinstance(result, tuple) else result


def load_variants(folder: Path | None = None) -> SimpleNamespace:
    """Import the eight modules from a folder; by default the reference, if it exists, else the students' modules."""
    return load_modules(folder or reference_or_own("variants"), MODULES)


def load_standins() -> SimpleNamespace:
    """Import the stand-ins: ready-made models for cells that run before students have written anything."""
    return load_modules(standins_of("variants"), MODULES)


def build(model_class: str, sizes: dict[str, Any], modules: SimpleNamespace) -> Any:
    """Build a model with fresh weights.

    Args:
        model_class: "module.Class".
        sizes: the arguments of its constructor.
    """
    module, name = model_class.split(".")
    return getattr(getattr(modules, module), name)(**sizes)


def save_sizes(model_class: str, sizes: dict[str, Any], folder: Path) -> None:
    """Write the configuration for `build` to a file next to the weights."""
    text = json.dumps({MODEL: model_class, **sizes}, indent=2) + "\n"
    (folder / CONFIG).write_text(text, encoding="utf-8", newline="\n")


def read_config(folder: Path) -> dict[str, Any]:
    """Read the configuration that `save_sizes` wrote.

    Raises:
        UserError: if the file is missing or damaged.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        return {MODEL: str(config.pop(MODEL)), **config}
    except OSError as error:
        raise UserError(f"cannot read the configuration of {folder}: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UserError(f"{folder / CONFIG} must be a JSON object with an entry {MODEL!r}") from error


def load_trained(name: str | Path, modules: SimpleNamespace | None = None) -> TrainedModel:
    """Load a trained model into the reference modules, or into other modules with the same interface.

    Args:
        name: the folder of a checkpoint, below checkpoints/ or anywhere else.

    Raises:
        UserError: if a file is missing or damaged, or names or shapes of the weights do not fit the modules.
    """
    folder = checkpoints() / name
    sizes = read_config(folder)
    model_class = sizes.pop(MODEL)
    model = build(model_class, sizes, modules or load_variants())
    fill(model, load_weights(folder / WEIGHTS), folder)
    kinds: dict[str, type[Tokenizer | BytePairs]] = {TOKENIZER: Tokenizer, BYTE_PAIRS: BytePairs}
    tokenizer = next((kind(folder / file) for file, kind in kinds.items() if (folder / file).is_file()), None)
    return TrainedModel(model.eval(), sizes, tokenizer)


def load_ready_made(name: str) -> TrainedModel:
    """Load a trained model into the stand-ins of its assignment.

    Raises:
        UserError: as in `load_trained`.
    """
    module = read_config(checkpoints() / name)[MODEL].partition(".")[0]
    return load_trained(name, load_modules(standins_with(module), (module,)))
