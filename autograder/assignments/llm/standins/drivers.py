"""Test code that runs in the student's process: dicts, bytes and tokenizers cannot be sent."""

from typing import Any

import torch
from torch.overrides import TorchFunctionMode


def count_pairs_of(words: list[list[int]], times: list[int]) -> Any:
    """`bpe.count_pairs` for words with their counts: sorted rows of a pair and its count."""
    from bpe import count_pairs

    counts = count_pairs({tuple(word): often for word, often in zip(words, times, strict=True)})
    return sorted([*pair, count] for pair, count in counts.items() if count) if isinstance(counts, dict) else counts


def _tokenizer(merges: list[list[int]], special: list[str]) -> Any:
    from bpe import Tokenizer

    return Tokenizer([(left, right) for left, right in merges], special)


def encode_word_of(merges: list[list[int]], word: list[int]) -> Any:
    """`Tokenizer.encode_word` for a word, passed as bytes."""
    return _tokenizer(merges, []).encode_word(bytes(word))


def encode_of(merges: list[list[int]], special: list[str], text: str) -> Any:
    """`Tokenizer.encode` for a text."""
    return _tokenizer(merges, special).encode(text)


def decode_of(merges: list[list[int]], special: list[str], ids: list[int]) -> Any:
    """`Tokenizer.decode` for ids."""
    return _tokenizer(merges, special).decode(ids)


class Largest(TorchFunctionMode):
    """While active, `most` is the number of elements in the largest tensor that a torch function returned.

    A `TorchDispatchMode` would see the operations inside these functions too, but its first use takes two seconds.
    """

    most = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.most = max(self.most, tensor.numel())
        return result


def largest_tensor(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block: int, causal: bool) -> int:
    """The number of elements in the largest tensor that `flash.tiled_attention` computes."""
    from flash import tiled_attention

    with Largest() as largest:
        tiled_attention(q, k, v, block, block, causal)
    return largest.most


def first_token_of(target: torch.Tensor, draft: torch.Tensor, accept: list[float], numbers: list[float]) -> Any:
    """The distribution of the first token of `speculative.verify` for one guess, (V,).

    Each guess counts as often as the draft draws it. All pairs of a number from `accept` and a u from `numbers` count
    equally. If both are the centres of equal cells, and every decision changes only between cells, this is exact.
    """
    from speculative import verify

    found = torch.zeros(target.size(1))
    for guess, weight in enumerate(draft[0].tolist()):
        for first in accept:
            for u in numbers if weight else ():
                found[verify(target, draft, [guess], [first], u)[0]] += weight
    return found / (len(accept) * len(numbers))


def speculate_with(
    target: torch.Tensor, draft: torch.Tensor, prompt: list[int], length: int, K: int, uniforms: list[float]
) -> Any:
    """The result of `speculative.speculate` for two models, and the number of calls of the target model.

    The models are tables, (n, V): the probabilities after some tokens are the row that the sum of these tokens selects.
    """
    from speculative import speculate

    calls = 0

    def of_draft(tokens: torch.Tensor) -> torch.Tensor:
        return draft[tokens.cumsum(dim=0) % len(draft)]

    def of_target(tokens: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return target[tokens.cumsum(dim=0) % len(target)]

    return [speculate(of_target, of_draft, prompt, length, K, iter(uniforms)), calls]
