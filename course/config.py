"""The configuration of a model, saved as JSON next to its weights."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from course.errors import UserError

PAD, BOS, EOS, UNK = 1, 2, 3, 0

# The files of a checkpoint.
WEIGHTS, CONFIG, CHECKSUMS = "model.safetensors", "config.json", "SHA256SUMS"
SOURCE_TOKENIZER, TARGET_TOKENIZER = "tokenizer.de.model", "tokenizer.en.model"


Config = TypeVar("Config", bound="SavedConfig")


@dataclass(frozen=True)
class SavedConfig:
    """The sizes, special tokens (`..._idx`) and dropout probability of a model. Subclasses declare the fields."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, smallest = getattr(self, field.name), 0 if field.name.endswith("idx") else 1
            if field.name == "dropout_prob":
                if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
                    raise UserError(f"dropout_prob must be a number from 0 up to, but not including, 1, not {value!r}")
            elif isinstance(value, bool) or not isinstance(value, int) or value < smallest:
                raise UserError(f"{field.name} must be a whole number of at least {smallest}, not {value!r}")

    def save(self, path: Path) -> None:
        """Write the configuration as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls: type[Config], path: Path) -> Config:
        """Read a configuration.

        Raises:
            UserError: if the file is missing, is not JSON, or has missing, unknown or invalid entries.
        """
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"cannot read the model configuration {path}: {error.strerror}") from error
        except ValueError as error:
            raise UserError(f"the model configuration {path} is not JSON: {error}") from error
        if not isinstance(entries, dict):
            raise UserError(f"the model configuration {path} must be a JSON object")
        names = {field.name for field in dataclasses.fields(cls)}
        required = {field.name for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING}
        if wrong := sorted(set(entries) - names):
            raise UserError(f"the model configuration {path} has unknown entries: {', '.join(wrong)}")
        if missing := sorted(required - set(entries)):
            raise UserError(f"the model configuration {path} lacks: {', '.join(missing)}")
        try:
            return cls(**entries)
        except UserError as error:
            raise UserError(f"the model configuration {path} is wrong: {error}") from error


@dataclass(frozen=True)
class ModelConfig(SavedConfig):
    """Everything needed to build a `Transformer` before its weights are loaded."""

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int = 192
    num_heads: int = 4
    num_layers: int = 3
    d_ff: int = 512
    max_seq_length: int = 200
    dropout_prob: float = 0.1
    sos_idx: int = BOS
    eos_idx: int = EOS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_model % self.num_heads:
            raise UserError(f"d_model ({self.d_model}) must be a multiple of num_heads ({self.num_heads})")
