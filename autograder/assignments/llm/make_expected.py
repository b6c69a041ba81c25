"""The stored tensors of the visible tests: inputs and the reference's results (`make expected`)."""

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.assignments.llm.visible import cases
from autograder.manifest import assignment
from course.modules import load_modules

Tensors = dict[str, Any]


class Maker:
    """Draws numbers and weights from one source."""

    def __init__(self, modules: SimpleNamespace) -> None:
        self.modules = modules
        self.rng = np.random.Generator(np.random.PCG64(20260101))

    def random(self, *shape: int) -> Any:
        """Standard normal numbers."""
        import torch

        return torch.from_numpy(self.rng.standard_normal(shape))


def whole(values: Any, *shape: int) -> Any:
    """Whole numbers as a tensor."""
    import torch

    return torch.tensor(values, dtype=torch.int64).reshape(shape or (-1,))


def named(prefix: str, tensors: Tensors) -> Tensors:
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def bpe(make: Maker) -> Tensors:
    code = make.modules.bpe
    merged = {f"overlap.{number}": whole(code.merge(*given)) for number, given in enumerate(cases.OVERLAPS)}
    counts = {}
    for part, (words, times) in (("words", cases.WORDS), ("overlaps", cases.DOUBLED)):
        found = code.count_pairs({tuple(word): often for word, often in zip(words, times, strict=True)})
        counts[part] = whole(sorted([*pair, count] for pair, count in Counter(found).items()), -1, 3)
    trained = {
        part: whole(code.train(text, number), -1, 2)
        for part, (text, number) in {
            "merges": (cases.TEXT, 6),
            "ties": (cases.TIES, 6),
            "end": ("abab cd", 99),
        }.items()
    }
    pairs = [(left, right) for left, right in cases.MERGES]
    plain = code.Tokenizer(pairs)
    words = {str(number): whole(plain.encode_word(word)) for number, word in enumerate(cases.WORD_CASES)}
    texts = {
        "words": whole(plain.encode("cd abcd ababcd, abcd")),
        "special": whole(code.Tokenizer(pairs, cases.SPECIAL).encode(cases.ENCODED)),
    }
    return (
        named("merge", {"ids": whole(code.merge(*cases.MERGE)), **merged})
        | named("counts", counts)
        | named("train", trained)
        | named("word", words)
        | named("text", texts)
    )


def flash(make: Maker) -> Tensors:
    import math

    import torch

    from autograder.assignments.llm.visible.test_flash import TILES

    step, tensors = make.modules.flash.online_softmax_step, Tensors()

    def keep(case: str, state: Any, scores: Any, v: Any) -> Any:
        new = step(*state, scores, v)
        before = dict(zip(("m", "total", "acc"), state, strict=True)) if case not in ("first", "hidden") else {}
        after = dict(zip(("new_m", "new_total", "new_acc"), new, strict=True))
        tensors.update(named(case, {"scores": scores, "v": v, **before, **after}))
        return new

    scores, v = make.random(2, 3, 5), make.random(2, 5, 4)
    fresh = torch.full((2, 3), -math.inf).double(), torch.zeros(2, 3).double(), torch.zeros(2, 3, 4).double()
    first = keep("first", fresh, scores, v)
    keep("second", first, make.random(2, 3, 4) + 3, make.random(2, 4, 4))
    keep("lower", first, make.random(2, 3, 4) - 2, make.random(2, 4, 4))
    hidden = make.random(2, 3, 5)
    hidden[:, 1] = -math.inf
    seen = keep("hidden", fresh, hidden, v)
    keep("after", seen, make.random(2, 3, 2), make.random(2, 2, 4))

    q, k, values = make.random(2, 2, 7, 6), make.random(2, 2, 11, 6), make.random(2, 2, 11, 5)
    tensors |= named("tiles", {"q": q, "k": k, "v": values})
    for part, options in TILES.items():
        out, lse = make.modules.flash.tiled_attention(q, k, values, **options)
        tensors |= named("tiles", {f"{part}_out": out, f"{part}_lse": lse})
    for part in ("both", "one_empty"):
        given = {"out1": make.random(2, 4, 3), "lse1": 2 * make.random(2, 4)}
        given |= {"out2": make.random(2, 4, 3), "lse2": 2 * make.random(2, 4)}
        if part == "one_empty":
            given["lse1"][0, 1], given["lse2"][1, 2] = -math.inf, -math.inf
            given["out1"][0, 1], given["out2"][1, 2] = 0, 0
        out, lse = make.modules.flash.combine(**given)
        tensors |= named(part, {**given, "out": out, "lse": lse})
    return tensors


def stored_tensors() -> Iterator[tuple[str, Tensors]]:
    """Yield the stored tensors of each stage, by the stage's name."""
    chosen = assignment("llm")
    make = Maker(load_modules(chosen.solution, chosen.modules))
    for stage in (bpe, flash):
        yield stage.__name__, stage(make)
