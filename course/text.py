"""Convert text to token indices and back: SentencePiece tokenizers, padding, batches of similar length."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from course.config import BOS, EOS, PAD, UNK
from course.errors import UserError

if TYPE_CHECKING:
    import torch

Pair = tuple[list[int], list[int]]


class Tokenizer:
    """A SentencePiece unigram model. Every encoded sentence starts with BOS and ends with EOS."""

    end = EOS

    def __init__(self, path: Path) -> None:
        import sentencepiece

        if not path.is_file():
            raise UserError(f"there is no tokenizer at {path}")
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            raise UserError(f"the tokenizer {path} is damaged: {error}") from error
        ids = (self._model.pad_id(), self._model.bos_id(), self._model.eos_id(), self._model.unk_id())
        if ids != (PAD, BOS, EOS, UNK):
            raise UserError(f"the tokenizer {path} has PAD, BOS, EOS, UNK = {ids}, not {(PAD, BOS, EOS, UNK)}")

    @staticmethod
    def train(sentences: Iterable[str], path: Path, vocab_size: int) -> "Tokenizer":
        """Train a tokenizer on sentences and write it to `path`."""
        import io

        import sentencepiece

        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                vocab_size=vocab_size,
                character_coverage=0.9999,
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
                num_threads=1,  # with more threads, the result would depend on timing
                minloglevel=2,
            )
        except RuntimeError as error:
            raise UserError(f"cannot train a tokenizer of {vocab_size} pieces: {error}") from error
        path.write_bytes(model.getvalue())
        return Tokenizer(path)

    @property
    def vocab_size(self) -> int:
        return int(self._model.vocab_size())

    def encode(self, sentence: str) -> list[int]:
        """Return the token indices of a sentence, including BOS and EOS."""
        return [BOS, *self._model.encode(sentence), EOS]

    def decode(self, tokens: Iterable[int]) -> str:
        """Convert token indices to text, without BOS, EOS and PAD."""
        return str(self._model.decode([int(t) for t in tokens if t not in (PAD, BOS, EOS)]))

    def pieces(self, tokens: Iterable[int]) -> list[str]:
        """Return the string of each token, for the axes of a heatmap; "▁" marks the start of a word."""
        return [str(self._model.id_to_piece(int(t))) for t in tokens]


def pad(sequences: Sequence[Sequence[int]]) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Pad sequences of different lengths into one tensor.

    Returns:
        tokens: (B, T) with T = the largest length, padded with PAD; lengths: (B,). Both LongTensors.
    """
    import torch

    lengths = [len(sequence) for sequence in sequences]
    width = max(lengths)
    tokens = torch.tensor([[*sequence, *[PAD] * (width - len(sequence))] for sequence in sequences])
    return tokens, torch.tensor(lengths)


def edit_distance(tokens: Sequence[object], reference: Sequence[object]) -> int:
    """The number of replacements, insertions and deletions between two sequences (Levenshtein, 1966).

    It is computed by `editdistance`, or by `rapidfuzz` if `editdistance` is not available (Python 3.13 and later).
    """
    try:
        import editdistance
    except ImportError:
        from rapidfuzz.distance import Levenshtein

        return int(Levenshtein.distance(tokens, reference))
    return int(editdistance.eval(tokens, reference))


def batch_by_length(pairs: Sequence[Pair], max_tokens: int, seed: int) -> list[list[int]]:
    """Group pairs of similar length, so that there is little padding, and shuffle the groups.

    Args:
        pairs: (source tokens, target tokens).
        max_tokens: the limit on pairs x longest side in one batch. A pair above the limit is a batch of its own.
        seed: determines the order.

    Returns:
        Batches of indices into `pairs`; every index is in exactly one batch.
    """
    import numpy as np

    rng = np.random.Generator(np.random.PCG64(seed))
    sizes = np.array([(len(target), len(source)) for source, target in pairs])
    # Sort by target length, then source length; ties are ordered randomly, so that batches differ between epochs.
    order = np.lexsort((rng.random(len(pairs)), sizes[:, 1], sizes[:, 0]))
    batches: list[list[int]] = []
    batch: list[int] = []
    longest = 0
    for index in order:
        longest_with = max(longest, int(sizes[index].max()))
        if batch and longest_with * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch, longest_with = [], int(sizes[index].max())
        batch.append(int(index))
        longest = longest_with
    if batch:
        batches.append(batch)
    rng.shuffle(batches)
    return batches


def in_batches(items: Sequence[Sequence[int]], max_tokens: int) -> Iterator[list[int]]:
    """Yield indices of `items`, longest first, in groups whose padded size stays below `max_tokens`."""
    order = sorted(range(len(items)), key=lambda index: -len(items[index]))
    start = 0
    while start < len(order):
        width = max(1, max_tokens // max(1, len(items[order[start]])))
        yield order[start : start + width]
        start += width
