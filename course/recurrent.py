"""The recurrent translator of the assignment `attention`: its configuration, and translating many sentences."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.config import BOS, EOS, PAD
from course.errors import UserError
from course.text import in_batches, pad


@dataclass(frozen=True)
class RecurrentConfig:
    """Everything that is needed to build a `Seq2Seq` before its weights are loaded."""

    src_vocab_size: int
    tgt_vocab_size: int
    sos_idx: int = BOS
    eos_idx: int = EOS
    pad_idx: int = PAD
    embed_size: int = 256
    hidden_size: int = 320
    attention_size: int = 256
    dropout_prob: float = 0.2

    def save(self, path: Path) -> None:
        """Write the configuration as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "RecurrentConfig":
        """Read a configuration.

        Raises:
            UserError: if the file is missing, is not JSON, or has missing or unknown entries.
        """
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise UserError(f"cannot read the model configuration {path}: {error.strerror}") from error
        except (ValueError, TypeError) as error:
            raise UserError(f"the model configuration {path} is wrong: {error}") from error


def translate_all(model: Any, sources: list[list[int]], max_tokens: int = 4096) -> list[list[int]]:
    """Translate many sentences greedily, with the model's own `translate`.

    Args:
        model: a `Seq2Seq`.
        sources: token indices with BOS and EOS.
        max_tokens: the padded size of one batch.

    Returns:
        predicted token indices without BOS and EOS, in the order of `sources`; of a sentence at most one and a half
        times the tokens of the source and 10 more.
    """
    import torch

    model.eval()
    device = next(model.parameters()).device
    results: list[list[int]] = [[] for _ in sources]
    with torch.inference_mode():
        for rows in in_batches(sources, max_tokens):
            src, src_lengths = pad([sources[row] for row in rows])
            limits = [len(sources[row]) * 3 // 2 + 10 for row in rows]
            tokens = model.translate(src.to(device), src_lengths.to(device), max(limits))
            for row, limit, found in zip(rows, limits, tokens[:, 1:].tolist(), strict=True):
                end = found.index(EOS) if EOS in found else len(found)
                results[row] = found[: min(end, limit)]
    return results
