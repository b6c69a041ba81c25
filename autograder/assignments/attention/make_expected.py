"""The stored tensors of the visible tests: inputs and the reference's results (`make expected`)."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.assignments.attention.trained import TINY
from course.errors import UserError

if TYPE_CHECKING:
    import torch

SENTENCES = Path(__file__).with_name("visible") / "sentences.tsv"
SHARP = 2.0  # attention with larger W_q and W_k is more peaked, and reveals more mistakes
MAX_OUTPUT_LENGTH = 30
TRANSLATED = 4  # sentences
PADDED = 20  # columns after the longest sentence: this much padding misleads a decoder that attends to it
CLEAR = 1e-3  # two scores closer than this are a near tie
SMALL = {
    "src_vocab_size": 11,
    "tgt_vocab_size": 13,
    "sos_idx": 2,
    "eos_idx": 3,
    "pad_idx": 1,
    "embed_size": 6,
    "hidden_size": 5,
    "attention_size": 7,
}

Tensors = dict[str, Any]


def random(rng: np.random.Generator, *shape: int) -> "torch.Tensor":
    import torch

    return torch.from_numpy(rng.standard_normal(shape))


def named(prefix: str, **tensors: "torch.Tensor") -> Tensors:
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def pooling(module: Any, rng: np.random.Generator) -> Tensors:
    """Kernels, points in the plane, and grid points that no kernel reaches; some are halfway between two keys."""
    import torch

    u = torch.tensor([[0.0, 0.25, 0.5, 0.9], [1.0, 1.1, 1.5, 3.0]])
    tensors = named("kernels", u=u, **{name: getattr(module, name)(u) for name in ("boxcar", "triangular")})
    tensors |= named("kernels", epanechnikov=module.epanechnikov(u))

    def pool(case: str, kernel: Any, width: float, queries: "torch.Tensor", keys: "torch.Tensor") -> Tensors:
        values = random(rng, len(keys), 3)
        estimates, weights = module.attention_pooling(queries, keys, values, kernel, width)
        inputs = {"queries": queries, "keys": keys, "values": values, "width": torch.tensor(width)}
        return named(case, **inputs, estimates=estimates, weights=weights)

    def leave_out(case: str, kernel: Any, width: float, keys: "torch.Tensor") -> Tensors:
        values = random(rng, len(keys), 2)
        predictions, weights = module.KernelRegression(kernel, width).leave_one_out(keys, values)
        inputs = {"keys": keys, "values": values, "width": torch.tensor(width)}
        return named(case, **inputs, predictions=predictions, weights=weights)

    # A Gaussian of width 0.01 is exactly 0 at a distance of 1.
    grid = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 3.0]])
    between = torch.tensor([[2.0, 0.0], [1.0, 1.0], [4.0, 3.0], [9.0, 3.0], [2.0, 1.5], [4.0, 0.0]])
    tensors |= pool("near", module.gaussian, 0.7, random(rng, 6, 2), random(rng, 9, 2))
    tensors |= pool("equal", module.constant, 0.7, random(rng, 3, 4), random(rng, 5, 4))
    tensors |= pool("unreached", module.gaussian, 0.01, between, grid)
    tensors |= pool("some_unreached", module.gaussian, 0.1, *some_unreached(rng))
    tensors |= pool("regression", module.gaussian, 0.4, random(rng, 7, 2), random(rng, 8, 2))
    tensors |= leave_out("others", module.gaussian, 0.6, random(rng, 8, 2))
    tensors |= leave_out("equal_others", module.constant, 0.6, random(rng, 5, 1))
    tensors |= leave_out("unreached_others", module.gaussian, 0.01, grid)
    tensors |= leave_out("some_unreached_others", module.gaussian, 0.1, some_unreached(rng)[0])
    return tensors


def some_unreached(rng: np.random.Generator) -> "tuple[torch.Tensor, torch.Tensor]":
    """Points for width 0.1: one query is over 6 widths from every key; another query and a key are out of reach."""
    import torch

    near, keys = 0.1 * random(rng, 3, 2), 0.1 * random(rng, 4, 2)
    for points in (near, keys):  # left of the origin, where the first query and key are
        points[:, 0] = -points[:, 0].abs()
        points[0] = 0
    queries = torch.cat([near, torch.tensor([[0.62, 0.0], [9.0, 0.0]])])
    return queries, torch.cat([keys, torch.tensor([[-9.0, 0.0]])])


def scoring(module: Any, rng: np.random.Generator) -> Tensors:
    """Scores with B = 3, T_q = 3 and T_k = 5; query size 6 and key size 3, neither of them a power of 4."""
    import torch

    B, T_q, T_k, d_v = 3, 3, 5, 4
    lengths = {"of_sequences": torch.tensor([4, 1, 5]), "of_queries": torch.tensor([[1, 3, 5], [5, 2, 2], [4, 4, 1]])}
    # Some of the scores are low, which reveals a fill value that is not far lower.
    scores = 2 * random(rng, B, T_q, T_k) - torch.tensor([0.0, 40.0, -10.0])[:, None, None]
    scores[0, :, -1] += 1000  # beyond most lengths: a hand-written softmax must not look there
    tensors = named("softmax", scores=scores)
    tensors |= named("softmax_no_lengths", weights=module.masked_softmax(scores))
    for name, valid_lens in lengths.items():
        weights = module.masked_softmax(scores, valid_lens)
        tensors |= named(f"softmax_{name}", valid_lens=valid_lens, weights=weights)

    attentions = {
        "dot": (module.DotProductAttention(), 6, 6),
        "bilinear": (module.BilinearAttention(6, 3), 6, 3),
        "additive": (module.AdditiveAttention(6, 3, 5), 6, 3),
    }
    for case, (attention, query_size, key_size) in attentions.items():
        state = {name: random(rng, *weight.shape) for name, weight in attention.state_dict().items()}
        attention.double().load_state_dict(state)
        attention.eval()
        inputs = {"queries": random(rng, B, T_q, query_size), "keys": random(rng, B, T_k, key_size)}
        inputs["values"] = random(rng, B, T_k, d_v)
        result, weights = attention(**inputs), attention.attention_weights
        tensors |= named(case, **inputs, result=result, weights=weights)
        tensors |= named(f"{case}_weights", **state)
        for name, valid_lens in lengths.items():
            results = {f"valid_lens_{name}": valid_lens, f"result_{name}": attention(**inputs, valid_lens=valid_lens)}
            tensors |= named(case, **results)
    return tensors


def small(module: Any, rng: np.random.Generator) -> tuple[Any, Tensors]:
    """A small model with sharp attention, and its weights."""
    import torch

    model = module.Seq2Seq(**SMALL).double().eval()
    weights = {}
    for name, weight in model.state_dict().items():
        values = random(rng, *weight.shape)
        scale = 1.0 if "embedding" in name else 0.3 if weight.dim() == 1 else weight.shape[-1] ** -0.5
        weights[name] = values * scale * (SHARP if "W_q" in name or "W_k" in name or "w_v" in name else 1.0)
    model.load_state_dict(weights)
    sizes = {name: torch.tensor(size) for name, size in SMALL.items()}
    return model, named("small", **sizes) | named("weights", **weights)


def sentence_pairs() -> tuple[Any, dict[str, "torch.Tensor"]]:
    """The trained model, and our sentences as token indices; the target lacks its last token."""
    from course.recurrent import load_recurrent
    from course.text import pad

    checkpoint = load_recurrent()
    pairs = [line.split("\t") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    src, src_lengths = pad([checkpoint.source.encode(german) for german, _ in pairs])
    tgt, tgt_lengths = pad([checkpoint.target.encode(english)[:-1] for _, english in pairs])
    model = checkpoint.model.double()
    return model, {"src": src, "src_lengths": src_lengths, "tgt": tgt, "tgt_lengths": tgt_lengths}


def bahdanau(modules: SimpleNamespace, rng: np.random.Generator) -> Tensors:
    """One step, several steps, a whole small model, and the next tokens predicted by the trained model."""
    import torch

    model, tensors = small(modules.seq2seq, rng)
    B, T_e, T_d, h = 4, 6, 6, SMALL["hidden_size"]
    # Not ordered by length, in either direction: a result sorted by length must be unsorted, not sorted again.
    src_lengths, tgt_lengths = torch.tensor([4, 1, 6, 2]), torch.tensor([3, 5, 4, 2])
    source = {"enc_outputs": random(rng, B, T_e, 2 * h), "src_lengths": src_lengths}

    def tokens(side: str, *shape: int) -> "torch.Tensor":
        return torch.from_numpy(rng.integers(SMALL[f"{side}_vocab_size"], size=shape))

    inputs: Tensors = {"token": tokens("tgt", B), "state": random(rng, B, h), **source}
    logits, state, weights = model.decoder.step(**inputs)
    tensors |= named("step", **inputs, logits=logits, new_state=state, weights=weights)
    inputs = {"tgt": tokens("tgt", B, T_d), "state": random(rng, B, h), **source}
    logits, weights = model.decoder(**inputs)
    tensors |= named("forced", **inputs, logits=logits, weights=weights)

    batch = {"src": tokens("src", B, T_e), "tgt": tokens("tgt", B, T_d)}
    batch |= {"src_lengths": src_lengths, "tgt_lengths": tgt_lengths}
    enc_outputs, state = model.encoder(batch["src"], src_lengths)
    tensors |= named("sentence_pairs", **batch, logits=model(**batch), enc_outputs=enc_outputs, state=state)

    trained, batch = sentence_pairs()
    logits = trained(**batch)
    best = logits.topk(2).values
    results = {"predicted": logits.argmax(dim=-1), "near_tie": best[..., 0] - best[..., 1] < CLEAR}
    return tensors | named("trained", **batch, **results)


def translate(modules: SimpleNamespace) -> Tensors:
    """Translations of the first sentences by the trained model."""
    import torch

    model, batch = sentence_pairs()
    src_lengths = batch["src_lengths"][:TRANSLATED]
    longest = int(src_lengths.max())
    src = torch.nn.functional.pad(batch["src"][:TRANSLATED, :longest], (0, PADDED), value=model.pad_idx)
    tokens = model.translate(src, src_lengths, MAX_OUTPUT_LENGTH)
    ended = (tokens[:, 1:] == model.eos_idx).long().cumsum(dim=1)  # 0 up to the end of a sentence
    logits = model(src, tokens[:, :-1], src_lengths, (ended == 0).sum(dim=1) + 1)
    best = logits.topk(2).values
    margin = float((best[..., 0] - best[..., 1])[logits.any(dim=-1)].min())
    if margin < CLEAR:
        raise UserError(f"the closest choice is decided by {margin:.1g}: a near tie; use other sentences")
    limit = torch.tensor(MAX_OUTPUT_LENGTH)
    return named("sentences", src=src, src_lengths=src_lengths, max_output_length=limit, tokens=tokens)


def tiny(modules: SimpleNamespace) -> Tensors:
    """A small model's translations of three sentences: one ends early, one late, and one not at all."""
    import torch

    rng = np.random.Generator(np.random.PCG64(20150519))
    src = torch.tensor([[3, 7, 4, 2], [5, 9, 6, 1], [8, 10, 1, 1]])
    call: dict[str, Any] = {"src": src, "src_lengths": torch.tensor([4, 3, 2]), "max_output_length": 5}
    for _ in range(1000):
        model = modules.seq2seq.Seq2Seq(**TINY, eos_idx=-1).double().eval()  # no token is eos
        weights = {name: 2 * random(rng, *weight.shape) for name, weight in model.state_dict().items()}
        model.load_state_dict(weights)
        first, *_, last = (tokens := model.translate(**call))
        eos = model.eos_idx = int(first[2])
        found = model.translate(**call)
        varied = all(len(set(row.tolist())) == len(row) for row in tokens)
        again = _chosen_again(model, call)
        ended = (found == eos).any(dim=1).sum() == 2
        if varied and model.pad_idx not in tokens and eos not in last and ended and again:
            limit, chosen = torch.tensor(call["max_output_length"]), torch.tensor(eos)
            call |= {"max_output_length": limit, "eos_idx": chosen, "tokens": found, **again}
            return named("tiny", **call, **{f"weights.{name}": weight for name, weight in weights.items()})
    raise UserError("no token ends one small sentence and not the others")


def _chosen_again(model: Any, call: dict[str, Any]) -> Tensors:
    """A start token and a padding token that the model also chooses within a sentence, and the translations.

    Return an empty dictionary if there is no such start token. The end token is disabled here.
    """
    import torch

    model.eos_idx = -1
    for sos in range(TINY["tgt_vocab_size"]):
        model.sos_idx = sos
        tokens = model.translate(**call)
        inside = tokens[:, 1:-1]
        if (inside == sos).any() and (others := inside[inside != sos]).numel():
            return {"again.sos_idx": torch.tensor(sos), "again.pad_idx": others[0], "again.tokens": tokens}
    return {}


def stored_tensors() -> Iterator[tuple[str, Tensors]]:
    """Yield the stored tensors of each stage, computed by the reference modules."""
    from course.recurrent import load_recurrent_modules

    rng = np.random.Generator(np.random.PCG64(20140901))
    modules = load_recurrent_modules()
    yield "pooling", pooling(modules.pooling, rng)
    yield "scoring", scoring(modules.scoring, rng)
    yield "bahdanau", bahdanau(modules, rng)
    yield "translate", translate(modules) | tiny(modules)
