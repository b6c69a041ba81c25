"""The stored tensors of the visible tests: inputs and the reference's results (`make expected`)."""

import sys
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
    """A source of numbers and weights that uses a single random generator."""

    def __init__(self, modules: SimpleNamespace) -> None:
        self.modules = modules
        self.rng = np.random.Generator(np.random.PCG64(20260101))

    def random(self, *shape: int) -> Any:
        """Standard normal numbers."""
        import torch

        return torch.from_numpy(self.rng.standard_normal(shape))


def whole(values: Any, *shape: int) -> Any:
    """Integers as a tensor."""
    import torch

    return torch.tensor(values, dtype=torch.int64).reshape(shape or (-1,))


def torch_of(values: Any) -> Any:
    """Floating-point numbers as a tensor."""
    import torch

    return torch.tensor(np.asarray(values), dtype=torch.float64)


def fill(make: Maker, model: Any) -> Any:
    """Give a model random weights, a different norm weight for every feature, and the dtype float64."""
    state = model.double().state_dict()
    for name, tensor in state.items():
        values = make.random(*tensor.shape)
        state[name] = 1 + 0.3 * values if "norm" in name else values / tensor.shape[-1] ** 0.5
    model.load_state_dict(state)
    return model.eval()


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
    of_words = code.Tokenizer([(left, right) for left, right in cases.WORD_MERGES])
    encoded = {str(number): whole(of_words.encode_word(word)) for number, word in enumerate(cases.WORD_CASES)}
    texts = {
        "words": whole(plain.encode("cd abcd ababcd, abcd")),
        "special": whole(code.Tokenizer(pairs, cases.SPECIAL).encode(cases.ENCODED)),
    }
    return (
        named("merge", {"ids": whole(code.merge(*cases.MERGE)), **merged})
        | named("counts", counts)
        | named("train", trained)
        | named("word", encoded)
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


def lm(make: Maker) -> Tensors:
    from autograder.assignments.llm.visible.test_lm import MASKS, MODEL, PAST, SIZES

    code, tensors = make.modules.lm, Tensors()
    for part, given in MASKS.items():
        tensors |= {f"hidden/{part}.{number}": code.hidden_keys(*each) for number, each in enumerate(given)}
    attention = fill(make, code.Attention(**SIZES))
    weights = attention.state_dict()
    plain = code.Attention(**SIZES, qk_norm=False).double()
    plain.load_state_dict(weights)
    x = make.random(2, 4, 24)
    tensors |= named("weights", weights) | {"project/x": x}
    for case, model, past in (("first", attention, 0), ("plain", plain, 0), ("later", attention, PAST)):
        projected = dict(zip("qkv", model.project(x, past), strict=True))
        tensors |= {f"project/{case}_{kind}": tensor for kind, tensor in projected.items()}

    x, keys, values = make.random(2, 6, 24), make.random(2, 2, PAST, 6), make.random(2, 2, PAST, 6)
    tensors |= named("attention", {"x": x, "keys": keys, "values": values})

    def attended(case: str, window: int | None, x: Any, past: int = 0, cache: Any = None) -> Tensors:
        model = code.Attention(**SIZES, window=window).double()
        model.load_state_dict(weights)
        y, (k, v) = model(x, past, cache)
        return named(f"{case}.{window}", {"y": y, "keys": k, "values": v})

    for window in (None, 3, 1):
        tensors |= attended("first", window, x)
    for window, kept in ((None, PAST), (3, 2), (4, 3)):
        tensors |= attended("next", window, x[:, :2], PAST, (keys[:, :, -kept:], values[:, :, -kept:]))

    model = fill(make, code.LanguageModel(**MODEL))
    tokens = whole(make.rng.integers(MODEL["vocab_size"], size=16).tolist(), 2, 8)
    first, caches = model(tokens[:, :5])
    after, _ = model(tokens[:, 5:], 5, caches)
    tensors |= named("model_weights", model.state_dict())
    tensors |= named("model", {"tokens": tokens, "first": first, "next": after, "loss": model.loss(tokens)})
    return tensors | {f"model/cache.{n}.{kind}": cache[kind] for n, cache in enumerate(caches) for kind in (0, 1)}


def optim(make: Maker) -> Tensors:
    from autograder.assignments.llm.standins import drivers
    from autograder.assignments.llm.visible.test_optim import CASES

    code, tensors = make.modules.optim, Tensors()
    sys.modules["optim"] = code  # the drivers import it
    for name, groups in (("AdamW", cases.ADAMW), ("Muon", cases.MUON)):
        for part, (number, steps, varied, saved) in CASES.items():
            sent = [(list(options), [make.random(*shape) for shape in shapes]) for options, shapes in groups[:number]]
            parameters = [p for _, own in sent for p in own]
            gradients: list[list[Any]] = [[make.random(*p.shape) for p in parameters] for _ in range(steps)]
            for step, p in cases.MISSING if varied else ():
                gradients[step][p] = None
            after, _ = drivers.optimize(name, sent, gradients, cases.RATES[:steps] if varied else [], saved)
            rows = {"g": gradients, "after": after}
            tensors |= {f"{name}.{part}/p.{n}": p for n, p in enumerate(parameters)}
            for kind, steps_of in rows.items():
                for step, row in enumerate(steps_of):
                    kept = {f"{kind}.{step}.{n}": value for n, value in enumerate(row) if value is not None}
                    tensors |= named(f"{name}.{part}", kept)
    for part, sizes in cases.MATRICES.items():
        for number, (n, m, steps) in enumerate(sizes):
            G = make.random(n, m) * (part != "zeros")
            tensors |= named(f"{part}.{number}", {"G": G, "X": code.orthogonalise(G, steps)})
    for part, model in cases.MODELS.items():
        hidden, others = drivers.split_of(model)
        tensors |= named(f"split.{part}", {"hidden": whole(hidden), "others": whole(others)})
    for part, schedule in cases.SCHEDULES.items():
        tensors[f"wsd/{part}"] = torch_of([code.wsd(*given) for given in schedule])
    del sys.modules["optim"]
    return tensors


def lens(make: Maker) -> Tensors:
    from autograder.assignments.llm.visible.test_lens import ABLATED, MODEL, PERIOD

    code = make.modules.lens
    model = fill(make, make.modules.lm.LanguageModel(**MODEL))
    tokens, target = (whole(make.rng.integers(MODEL["vocab_size"], size=12).tolist(), 2, 6) for _ in range(2))
    run = code.run(model, tokens)
    shares = code.attribution(model, run.stream, run.heads, run.mlps, target)
    given = {"tokens": tokens, "target": target, "stream": run.stream, "heads": run.heads, "mlps": run.mlps}
    results = {"logits": code.logit_lens(model, run.stream), "whole": model(tokens)[0]}
    results |= {f"share_of_{part}": share for part, share in zip(("embedding", "heads", "mlps"), shares, strict=True)}
    results |= {f"ablated.{part}": code.ablate(model, tokens, heads) for part, heads in ABLATED.items()}
    weights = make.random(2, 3, 4, 11, 11).softmax(dim=-1)
    score = {"weights": weights, "score": code.induction_score(weights, PERIOD)}
    return named("weights", model.state_dict()) | named("run", given | results) | named("induction", score)


def quantise(make: Maker) -> Tensors:
    from autograder.assignments.llm.visible.test_quantise import CASES, LINEAR

    code, tensors = make.modules.quantise, Tensors()
    weights = {part: make.random(5, 12) for part in ("rounding", "zeros")}
    weights["zeros"][1, 3:6], weights["zeros"][3] = 0, 0
    weights["ties"] = whole([[7, 1, 3, 5, -14, -1], [-3, -5, 14, 13, 12, 11]], 2, 6) / 2  # 14 / 2 / 7 is exactly 1
    for part, cases_of_part in CASES.items():
        tensors[f"{part}/W"] = weights[part]
        for number, options in enumerate(cases_of_part):
            numbers, scales = code.quantise(weights[part], **options)
            tensors |= named(part, {f"numbers.{number}": numbers, f"scales.{number}": scales})
    numbers, scales = whole(make.rng.integers(-8, 8, size=60).tolist(), 5, 12).char(), make.random(5, 4).abs() + 0.2
    tensors |= named("given", {"numbers": numbers, "scales": scales, "packed": code.pack(numbers)})
    tensors["given/weights"] = code.dequantise(numbers, scales)
    linear, x = code.PackedLinear(**LINEAR).double(), make.random(2, 3, 12)
    linear.load_state_dict({"packed": tensors["given/packed"], "scales": scales})
    return tensors | named("linear", {"x": x, "y": linear(x)})


def speculative(make: Maker) -> Tensors:
    from autograder.assignments.llm.visible.test_speculative import CASES, DRAWN, NUMBERS, RUNS, guesses, probabilities

    code, tensors = make.modules.speculative, Tensors()
    for part, (eighths, numbers) in DRAWN.items():
        weights = whole(eighths, len(eighths), -1).double() / 8
        drawn = [[code.draw(row, u) for u in numbers] for row in weights]
        tensors |= named(f"draw.{part}", {"weights": weights, "tokens": whole(drawn, len(drawn), -1)})
    for number in range(CASES):
        rows = probabilities(make.rng, 4, 7), probabilities(make.rng, 3, 7)
        tokens, accept = guesses(make.rng, *rows, number % 4)
        case = {"target": torch_of(rows[0]), "draft": torch_of(rows[1])}
        right = [code.verify(*case.values(), tokens, accept, u) for u in NUMBERS]
        case |= {"tokens": whole(tokens), "accept": torch_of(accept), "right": whole(right, len(NUMBERS), -1)}
        tensors |= named(f"verify.{number}", case)
    target, draft = (torch_of(probabilities(make.rng, 11, 6)) for _ in range(2))

    def model(table: Any) -> Any:
        return lambda tokens: table[tokens.cumsum(dim=0) % len(table)]

    def runs(uniforms: list[float], more: int = 0) -> list[tuple[list[int], int]]:
        models = model(target), model(draft)
        return [code.speculate(*models, prompt, length + more, K, iter(uniforms)) for prompt, length, K in RUNS]

    while True:  # until the last round produces too many tokens in some runs, and just enough in others
        uniforms = make.rng.random(100)
        wanted = runs(uniforms.tolist())
        more = runs(uniforms.tolist(), 1)
        if len({one[1] == other[1] for one, other in zip(wanted, more, strict=True)}) == 2:
            break
    tensors |= named("speculate", {"target": target, "draft": draft, "uniforms": torch_of(uniforms)})
    for number, (new, calls) in enumerate(wanted):
        tensors |= named("speculate", {f"tokens.{number}": whole(new), f"calls.{number}": whole([calls])})
    return tensors


def stored_tensors() -> Iterator[tuple[str, Tensors]]:
    """Yield the name of each stage with its stored tensors."""
    chosen = assignment("llm")
    make = Maker(load_modules(chosen.solution, chosen.modules))
    for stage in (bpe, flash, lm, optim, lens, quantise, speculative):
        yield stage.__name__, stage(make)
