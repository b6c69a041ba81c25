"""The language model `grimm-lm`: fairy tales as tokens, windows of tokens, and bits per character."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.config import PAD, UNK
from course.text import Tokenizer
from course.training.variants.task import Measured, Task
from course.variants.tales import UNKNOWN_BITS, Tale, read_tales
from course.variants.trained import TOKENIZER

if TYPE_CHECKING:
    import torch


def encode_tale(tale: Tale, tokenizer: Tokenizer) -> list[int]:
    """Return the tokens of a tale: BOS, then each line followed by EOS."""
    lines = [tokenizer.encode(line) for line in tale.lines]  # each with BOS and EOS
    return [lines[0][0], *(token for line in lines for token in line[1:])]


class Tales(Task):
    """Windows of tokens from the 58 training tales, and the four held-out tales."""

    model_class = "language_model.DecoderTransformer"
    figure = "bits"
    title = "bits per character (four held-out tales)"
    windows = 8  # per batch

    def __init__(self, state: Path, vocab_size: int = 2000, max_len: int = 256, dropout: float = 0.25) -> None:
        import torch

        training, self.held_out = read_tales("train"), read_tales("val")
        path = state / TOKENIZER
        lines = (line for tale in training for line in tale.lines)
        self.tokenizer = Tokenizer(path) if path.is_file() else Tokenizer.train(lines, path, vocab_size)
        self.tokens = torch.tensor([token for tale in training for token in encode_tale(tale, self.tokenizer)])
        self.max_len, self.dropout, self.path = max_len, dropout, path

    @property
    def sizes(self) -> dict[str, Any]:
        return {
            "vocab_size": self.tokenizer.vocab_size,
            "d_model": 192,
            "num_heads": 4,
            "num_layers": 4,
            "d_ff": 768,
            "max_len": self.max_len,
            "dropout": self.dropout,
            "padding_idx": PAD,
        }

    @property
    def steps_per_epoch(self) -> int:
        return max(1, len(self.tokens) // (self.windows * self.max_len))

    def batch(self, step: int, seed: int) -> "tuple[tuple[torch.Tensor, ...], int]":
        import torch

        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        starts = torch.randint(len(self.tokens) - self.max_len, (self.windows,), generator=generator)
        tokens = self.tokens[starts[:, None] + torch.arange(self.max_len + 1)]  # (windows, max_len + 1)
        return (tokens,), self.windows * self.max_len

    def measure(self, model: Any) -> Measured:
        return bits_per_character(model, self.held_out, self.tokenizer, self.max_len)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)


def bits_per_character(model: Any, tales: list[Tale], tokenizer: Tokenizer, max_len: int) -> Measured:
    """Return a language model's loss per token, and its bits per character.

    Line breaks count as characters. A character unknown to the tokenizer costs an additional UNKNOWN_BITS.
    """
    nats, unknown, tokens, characters = 0.0, 0, 0, 0
    model.eval()
    for tale in tales:
        encoded = encode_tale(tale, tokenizer)
        nats += surprise(model, encoded, max_len)
        tokens += len(encoded) - 1
        characters += tale.characters
        unknown += sum(UNK in tokenizer.encode(letter) for line in tale.lines for letter in line)
    return Measured(nats / tokens, (nats / math.log(2) + UNKNOWN_BITS * unknown) / characters)


def surprise(model: Any, tokens: list[int], max_len: int) -> float:
    """Return the sum of -log p over all tokens except the first, in nats.

    Each window overlaps the previous one by half, and only its new tokens count. So every token is predicted from at
    least half a window, except at the beginning of the text.
    """
    import torch
    import torch.nn.functional as F

    total, counted = 0.0, 1  # tokens before `counted` have been counted
    with torch.inference_mode():
        for start in range(0, len(tokens), max_len // 2):
            window = torch.tensor(tokens[start : start + max_len + 1])
            if start + len(window) <= counted:
                break
            logits = model(window[None, :-1])[0]  # (T, V)
            new = counted - start - 1  # the index of the first target that counts
            total += F.cross_entropy(logits[new:], window[1 + new :], reduction="sum").item()
            counted = start + len(window)
    return total
