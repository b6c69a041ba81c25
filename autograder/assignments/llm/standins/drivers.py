"""Test code that runs in the student's process, since dicts, bytes, tokenizers and optimizers cannot be sent to it."""

import copy
import inspect
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode


def count_pairs_of(words: list[list[int]], times: list[int]) -> Any:
    """Call `bpe.count_pairs` with words and their counts; return sorted rows, each with a pair and its count."""
    from bpe import count_pairs

    counts = count_pairs({tuple(word): often for word, often in zip(words, times, strict=True)})
    return sorted([*pair, count] for pair, count in counts.items() if count) if isinstance(counts, dict) else counts


def _tokenizer(merges: list[list[int]], special: list[str]) -> Any:
    from bpe import Tokenizer

    return Tokenizer([(left, right) for left, right in merges], special)


def encode_word_of(merges: list[list[int]], word: list[int]) -> Any:
    """Call `Tokenizer.encode_word` with a word, which is converted to bytes."""
    return _tokenizer(merges, []).encode_word(bytes(word))


def encode_of(merges: list[list[int]], special: list[str], text: str) -> Any:
    """Call `Tokenizer.encode` with a text."""
    return _tokenizer(merges, special).encode(text)


def decode_of(merges: list[list[int]], special: list[str], ids: list[int]) -> Any:
    """Call `Tokenizer.decode` with ids."""
    return _tokenizer(merges, special).decode(ids)


class Largest(TorchFunctionMode):
    """A mode that sets `most` to the number of elements in the largest tensor that a torch function returned.

    A `TorchDispatchMode` would also catch the operations inside these functions, but its first use takes two seconds.
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


Parameters = list[torch.Tensor]


def optimize(
    name: str,
    groups: list[tuple[list[tuple[str, Any]], Parameters]],
    gradients: list[list[torch.Tensor | None]],
    rates: list[list[float]],
    saved: int,
) -> tuple[list[Parameters], list[torch.Tensor | None]]:
    """Run some steps of an optimizer from `optim`.

    Args:
        name: the class.
        groups: the options and the initial parameters of each group.
        gradients: for each step, the gradients of all parameters.
        rates: for each step, the learning rates of all groups; if empty, they do not change.
        saved: after this many steps, a new optimizer continues with the state of the old one; 0 means never.

    Returns:
        The parameters after each step, and the gradients after the last.
    """
    import optim

    for method in ("add_param_group", "load_state_dict", "state_dict"):  # or the first optimizer imports the compiler
        setattr(torch.optim.Optimizer, method, inspect.unwrap(getattr(torch.optim.Optimizer, method)))

    def build(tensors: Parameters) -> Any:
        left = [nn.Parameter(tensor.detach().clone()) for tensor in tensors]
        rows = []
        for options, own in groups:
            rows.append({"params": left[: len(own)], **dict(options)})
            left = left[len(own) :]
        return getattr(optim, name)(rows)

    def parameters() -> list[Any]:
        return [p for group in optimizer.param_groups for p in group["params"]]

    optimizer, after = build([tensor for _, own in groups for tensor in own]), []
    for step, row in enumerate(gradients):
        if saved and step == saved:
            state = copy.deepcopy(optimizer.state_dict())
            optimizer = build(parameters())
            optimizer.load_state_dict(state)
        for group, rate in zip(optimizer.param_groups, rates[step] if rates else [], strict=bool(rates)):
            group["lr"] = rate
        for p, gradient in zip(parameters(), row, strict=True):
            p.grad = None if gradient is None else gradient.clone()
        optimizer.step()
        after.append([p.detach().clone() for p in parameters()])
    return after, [p.grad for p in parameters()]


def _build_model(rows: list[tuple[str, str, list[int]]]) -> nn.Module:
    """Build a module from rows (name, kind, sizes); a "shared" layer uses the weight of the given row."""
    model = nn.Module()
    for name, kind, sizes in rows:
        if kind == "parameter":
            model.register_parameter(name, nn.Parameter(torch.zeros(sizes)))
        elif kind == "shared":  # a linear layer with the weight of another module
            weight: Any = model.get_submodule(rows[sizes[0]][0]).weight
            linear = nn.Linear(weight.size(1), weight.size(0), bias=False)
            linear.weight = weight
            model.add_module(name, linear)
        else:
            kinds = {"linear": nn.Linear, "embedding": nn.Embedding, "norm": nn.LayerNorm, "conv": nn.Conv1d}
            layer = kinds[kind](*sizes)
            model.add_module(name, nn.Sequential(nn.ReLU(), layer) if kind == "linear" else layer)
    return model


def split_of(rows: list[tuple[str, str, list[int]]]) -> Any:
    """Call `optim.split` with a model; return the sorted parameter numbers of each list, with -1 for other tensors."""
    from optim import split

    model = _build_model(rows)
    numbers = {id(p): number for number, p in enumerate(model.parameters())}
    result = split(model)
    if not isinstance(result, (list, tuple)):
        return result
    return [sorted(numbers.get(id(p), -1) for p in part) for part in result]


def run_of(model: Any, tokens: torch.Tensor) -> list[torch.Tensor]:
    """Call `lens.run`; return the residual streams, the attention weights, and the outputs of heads and networks."""
    from lens import run

    kept = run(model, tokens)
    return [kept.stream, kept.weights, kept.heads, kept.mlps]


def first_token_of(target: torch.Tensor, draft: torch.Tensor, accept: list[float], numbers: list[float]) -> Any:
    """The distribution of the first token that `speculative.verify` returns for one guess, (V,).

    Each guess is weighted by its draft probability. All pairs of a number from `accept` and a u from `numbers` have
    equal weight. The result is exact if the numbers are centres of equal cells and decisions change only at cell
    boundaries.
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
    """The result of `speculative.speculate` for two models, and the number of calls to the target model.

    The models are tables, (n, V). The sum of all tokens so far selects the row with the next token's probabilities.
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
