"""The trained models of the assignment `variants`: a language model, a tagger and Vision Transformers."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from course.checkpoint import fill, load_weights
from course.config import CONFIG, WEIGHTS
from course.errors import UserError
from course.location import checkpoints
from course.modules import load_modules, reference_or_own, standins_of
from course.text import Tokenizer

MODULES = ("layers", "heads", "language_model", "generate", "tagger", "vit", "training", "modern")
TOKENIZER = "tokenizer.model"
MODEL = "model"  # the configuration entry with the class, "module.Class"


@dataclass(frozen=True)
class TrainedModel:
    """A model with its weights, in evaluation mode."""

    model: Any
    sizes: dict[str, Any]  # the arguments of its constructor
    tokenizer: Tokenizer | None  # for models that read text


def load_variants(folder: Path | None = None) -> SimpleNamespace:
    """Import the eight modules: from a folder; by default the reference, if it exists, else the students' modules."""
    return load_modules(folder or reference_or_own("variants"), MODULES)


def load_standins() -> SimpleNamespace:
    """Import the stand-ins: ready-made models for cells that run before anything is written."""
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
    """Write the configuration that `build` needs next to the weights."""
    text = json.dumps({MODEL: model_class, **sizes}, indent=2) + "\n"
    (folder / CONFIG).write_text(text, encoding="utf-8", newline="\n")


def load_trained(name: str | Path, modules: SimpleNamespace | None = None) -> TrainedModel:
    """Load a trained model into the reference modules, or into other modules with the same interface.

    Args:
        name: the folder of a checkpoint, below checkpoints/ or anywhere else.

    Raises:
        UserError: if a file is missing or damaged, or names or shapes of the weights do not fit the modules.
    """
    folder = checkpoints() / name
    try:
        sizes = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        model_class = sizes.pop(MODEL)
    except OSError as error:
        raise UserError(f"cannot read the configuration of {folder}: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UserError(f"{folder / CONFIG} must be a JSON object with an entry {MODEL!r}") from error
    model = build(model_class, sizes, modules or load_variants())
    fill(model, load_weights(folder / WEIGHTS), folder)
    tokenizer = Tokenizer(folder / TOKENIZER) if (folder / TOKENIZER).is_file() else None
    return TrainedModel(model.eval(), sizes, tokenizer)
