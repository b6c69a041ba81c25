"""Sentence pairs as tokens: the tokenizers of a run, and batches assembled on the model's device."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from course.config import PAD, SOURCE_TOKENIZER, TARGET_TOKENIZER
from course.errors import UserError
from course.text import Pair, Tokenizer

if TYPE_CHECKING:
    import torch


def prepare_tokenizers(
    pairs: list[tuple[str, str]], folder: Path, vocab_size: int, init: Path | None = None
) -> tuple[Tokenizer, Tokenizer]:
    """Return both languages' tokenizers, stored in `folder`: those of the checkpoint `init`, or newly trained ones.

    Raises:
        UserError: if `folder` has different tokenizers from `init`.
    """
    tokenizers = []
    for side, name in enumerate((SOURCE_TOKENIZER, TARGET_TOKENIZER)):
        path = folder / name
        if init is not None:
            tokenizers.append(Tokenizer(init / name))
            content = (init / name).read_bytes()
            if path.is_file() and path.read_bytes() != content:
                raise UserError(f"{folder} has tokenizers that differ from {init}; choose another --state folder")
            path.write_bytes(content)
        elif path.is_file():
            tokenizers.append(Tokenizer(path))
        else:
            tokenizers.append(Tokenizer.train((pair[side] for pair in pairs), path, vocab_size))
    source, target = tokenizers
    return source, target


def encode_pairs(
    pairs: list[tuple[str, str]], source: Tokenizer, target: Tokenizer, max_tokens: int = 100
) -> list[Pair]:
    """Encode sentence pairs, leaving out those with more than `max_tokens` tokens on either side."""
    encoded = [(source.encode(german), target.encode(english)) for german, english in pairs]
    return [pair for pair in encoded if max(map(len, pair)) <= max_tokens]


class TokenTable:
    """Token sequences, concatenated in a single tensor.

    A batch is read from the table in a few operations. On a GPU, building a batch from lists would take longer than the
    training step.
    """

    def __init__(self, sequences: Sequence[Sequence[int]], device: str) -> None:
        import torch

        self.lengths = [len(sequence) for sequence in sequences]
        self.tokens = torch.tensor([token for sequence in sequences for token in sequence], device=device)
        lengths = torch.tensor(self.lengths, device=device)
        self.table = torch.stack([lengths.cumsum(0) - lengths, lengths])  # (2, N): start and length of each sequence

    def batch(self, rows: list[int]) -> "tuple[torch.Tensor, torch.Tensor]":
        """Return a batch of the sequences with these indices.

        Returns:
            tokens: (B, T) with T = the largest length, padded with PAD; lengths: (B,). Both LongTensors.
        """
        import torch

        device = self.tokens.device
        starts, lengths = self.table[:, torch.tensor(rows, device=device)]
        positions = torch.arange(max(self.lengths[row] for row in rows), device=device)
        places = (starts[:, None] + positions).clamp_(max=len(self.tokens) - 1)  # (B, T)
        return self.tokens[places].masked_fill_(positions >= lengths[:, None], PAD), lengths
