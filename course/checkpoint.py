"""Save and load a trained model: safetensors weights, JSON configuration, two tokenizers."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from course.config import CHECKSUMS, CONFIG, SOURCE_TOKENIZER, TARGET_TOKENIZER, WEIGHTS, ModelConfig
from course.errors import UserError, first_reason
from course.location import checkpoints
from course.modules import load_modules
from course.text import Tokenizer

DEFAULT = checkpoints() / "de-en"


@dataclass(frozen=True)
class Checkpoint:
    """A trained model and its tokenizers."""

    config: Any  # the configuration that the model was built from, for instance a `ModelConfig`
    model: Any  # a `Transformer` of the loaded modules, or another translator
    source: Tokenizer
    target: Tokenizer


def build_model(config: ModelConfig, modules: SimpleNamespace) -> Any:
    """Build a `Transformer` with fresh weights."""
    return modules.transformer.Transformer(**asdict(config))


def save_weights(model: torch.nn.Module, path: Path) -> None:
    """Write the parameters in float16, which is half the size of float32, and leave the buffers unchanged.

    The file is written completely or not at all.
    """
    from safetensors.torch import save_file

    tensors = {name: tensor.detach().to("cpu", torch.float16) for name, tensor in model.named_parameters()}
    tensors.update((name, tensor.detach().cpu()) for name, tensor in model.named_buffers())
    partial = path.with_suffix(".partial")
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, partial)
    partial.replace(path)


def checksums(folder: Path) -> dict[str, str]:
    """The SHA-256 hashes of a checkpoint's existing files."""
    names = (WEIGHTS, CONFIG, *sorted(path.name for path in folder.glob("tokenizer*")))
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names if (folder / name).is_file()
    }


def save_checksums(folder: Path) -> None:
    """Write the checksums of a finished checkpoint next to it, in the format of sha256sum."""
    text = "".join(f"{digest}  {name}\n" for name, digest in checksums(folder).items())
    (folder / CHECKSUMS).write_text(text, encoding="utf-8", newline="\n")


def load_weights(path: Path) -> dict[str, torch.Tensor]:
    """Read weights as float32.

    Raises:
        UserError: if the file is missing, truncated or not safetensors.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise UserError(f"there are no weights at {path}")
    try:
        return {name: tensor.to(torch.float32) for name, tensor in load_file(path).items()}
    except (SafetensorError, OSError) as error:
        raise UserError(f"the weights {path} are damaged ({error}); fetch the file again") from error


def fill(model: torch.nn.Module, weights: dict[str, torch.Tensor], folder: Path) -> None:
    """Load the weights of a checkpoint folder into a model.

    Raises:
        UserError: if the names or shapes of the weights do not fit.
    """
    try:
        model.load_state_dict(weights, strict=True)
    except RuntimeError as error:
        raise UserError(f"the weights in {folder} do not fit the model: {first_reason(error)}") from error


def load_checkpoint(folder: Path = DEFAULT, modules: SimpleNamespace | None = None) -> Checkpoint:
    """Load a checkpoint into the reference modules, or into other modules with the same interface.

    Raises:
        UserError: if a file is missing or damaged, or names or shapes of the weights do not fit the modules.
    """
    if not folder.is_dir():
        raise UserError(f"there is no checkpoint folder {folder}")
    config = ModelConfig.load(folder / CONFIG)
    weights = load_weights(folder / WEIGHTS)
    model = build_model(config, load_modules() if modules is None else modules)
    fill(model, weights, folder)
    model.eval()
    return Checkpoint(config, model, Tokenizer(folder / SOURCE_TOKENIZER), Tokenizer(folder / TARGET_TOKENIZER))
