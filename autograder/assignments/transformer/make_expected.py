"""The stored tensors of the visible tests: inputs and the reference's results (`make expected`)."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.assignments.transformer.trained import (
    KEPT,
    SMALL,
    TINY,
    TINY_SENTENCES,
    numbers,
    small_arguments,
    small_weights,
    tiny_weights,
)
from course.data import OWN_SENTENCES
from course.errors import UserError

if TYPE_CHECKING:
    import torch

    from course.checkpoint import Checkpoint

SHARP = 2.0  # attention with larger W_q and W_k is more peaked, and reveals more mistakes
MAX_OUTPUT_LENGTH = 40
TRANSLATED = 4  # sentences; greedy decoding is the slowest part of grading
SCORED = 10  # sentence pairs whose scores are stored; for the others, only the predicted tokens
STORED_COLUMNS = 256  # columns of the vocabulary that are stored, in the test of the decoder's scores
CLEAR = 1e-3  # two scores closer than this are a near tie

Tensors = dict[str, Any]


def random(rng: np.random.Generator, *shape: int) -> "torch.Tensor":
    import torch

    return torch.from_numpy(rng.standard_normal(shape))


def mha(modules: SimpleNamespace, rng: np.random.Generator) -> Tensors:
    """Attention with B = 3, d_model = 60, H = 4: d_k = 15 is not a power of 4, so the scale is not exact."""
    import torch

    B, d_model, H = 3, 60, 4
    lengths, memory_lengths = torch.tensor([10, 7, 4]), torch.tensor([20, 14, 8])
    attention = modules.mha.MultiHeadAttention(d_model, H).double()
    weights = {name: random(rng, *weight.shape) / 8 for name, weight in attention.state_dict().items()}
    for name in ("W_q.weight", "W_k.weight"):
        weights[name] *= SHARP
    attention.load_state_dict(weights)
    tensors: Tensors = {f"weights/{name}": weight for name, weight in weights.items()}

    def add(case: str, T_q: int, T_k: int, **masks: "torch.Tensor") -> None:
        inputs = [random(rng, B, T, d_model) for T in (T_q, T_k, T_k)]
        heads = attention.compute_mh_qkv_transformation(*inputs)
        x = attention.compute_scaled_dot_product_attention(*heads, **masks)
        names = ("Q", "K", "V", "query", "key", "value", "x")
        tensors.update((f"{case}/{name}", value) for name, value in zip(names, (*inputs, *heads, x), strict=True))
        tensors.update((f"{case}/{name}", mask) for name, mask in masks.items())

    padding = modules.transformer.length_to_padding_mask
    # Each sentence has its own mask; the diagonal stays open, so that no query loses all its keys.
    numbers = torch.from_numpy(rng.integers(-1, 3, size=(B, 10, 10))) * (1 - torch.eye(10, dtype=torch.long))
    numbers[:, :, 0] = 0
    holes = (numbers != 0).long()
    add("no_mask", 8, 8)
    add("key_padding", 10, 10, key_padding_mask=padding(lengths))
    add("both_masks", 10, 10, key_padding_mask=padding(lengths), attention_mask=holes)
    # The same masks with other numbers; the first sentence has no padding.
    tensors["both_masks/numbers/key_padding_mask"] = padding(lengths) * torch.tensor([[1], [7], [-2]])
    tensors["both_masks/numbers/attention_mask"] = numbers
    add("causal", 10, 10, attention_mask=modules.transformer.subsequent_mask(10)[None])
    add("cross", 10, 20, key_padding_mask=padding(memory_lengths))
    return tensors


def pe(modules: SimpleNamespace, rng: np.random.Generator) -> Tensors:
    """A 15 x 32 table, and embeddings for fewer positions."""
    encoding = modules.pe.PositionalEncoding(32, 15)
    x = random(rng, 4, 9, 32)
    return {"pe/table": encoding.pe, "pe/x": x, "pe/output": encoding(x)}


def read_sentences(path: Path = OWN_SENTENCES) -> list[list[str]]:
    """(German, English) pairs."""
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def encoded(checkpoint: "Checkpoint") -> dict[str, "torch.Tensor"]:
    """The sentences as token indices: src, src_lengths, tgt and tgt_lengths. The targets lack their last token."""
    from course.text import pad

    pairs = read_sentences()
    src, src_lengths = pad([checkpoint.source.encode(german) for german, _ in pairs])
    tgt, tgt_lengths = pad([checkpoint.target.encode(english)[:-1] for _, english in pairs])
    return {"src": src, "src_lengths": src_lengths, "tgt": tgt, "tgt_lengths": tgt_lengths}


def layer(layer_class: Any, decoder: bool, cache: bool = False) -> Tensors:
    """A small encoder or decoder layer; with `cache`, one step that continues from a random cache."""
    import torch

    def made(**options: bool) -> Any:
        small = layer_class(*SMALL, KEPT, **options).double().eval()
        weights = small_weights({name: tuple(weight.shape) for name, weight in small.state_dict().items()})
        small.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
        return small

    small = made()
    arguments = {name: torch.from_numpy(value) for name, value in small_arguments(decoder, step=cache).items()}
    if not cache:
        alone = {"alone/output": made(no_encoder_attn=True)(arguments["x"])} if decoder else {}
        return {"layer/output": small(**arguments), **alone}
    B, T, d_model = arguments["x"].shape
    known = torch.from_numpy(numbers(B, T - 1, d_model))
    return {"layer/cache": known, "layer/output": small.forward_one_step_ec(**arguments, cache=known)}


def encoder(checkpoint: "Checkpoint") -> Tensors:
    sentences = encoded(checkpoint)
    enc_output, _ = checkpoint.model.forward_encoder(sentences["src"], sentences["src_lengths"])
    tensors = {"src": sentences["src"], "src_lengths": sentences["src_lengths"], "enc_output": enc_output}
    return {f"sentences/{name}": tensor for name, tensor in tensors.items()}


def decoder(checkpoint: "Checkpoint", rng: np.random.Generator) -> Tensors:
    import torch

    sentences = encoded(checkpoint)
    enc_output, src_padding_mask = checkpoint.model.forward_encoder(sentences["src"], sentences["src_lengths"])
    logits = checkpoint.model.forward_decoder(enc_output, src_padding_mask, sentences["tgt"], sentences["tgt_lengths"])
    best = logits.topk(2).values
    vocab_size = logits.size(-1)
    columns = torch.from_numpy(np.sort(rng.choice(vocab_size, size=min(STORED_COLUMNS, vocab_size), replace=False)))
    tensors = sentences | {
        "enc_output": enc_output[:SCORED],
        "src_padding_mask": src_padding_mask[:SCORED],
        "predicted": logits.argmax(dim=-1),
        "near_tie": best[..., 0] - best[..., 1] < CLEAR,
        "vocab_size": torch.tensor(vocab_size),
        "columns": columns,
        "logits": logits[:SCORED, : int(sentences["tgt_lengths"][:SCORED].max()), columns],
    }
    return {f"sentences/{name}": tensor for name, tensor in tensors.items()}


def inference(checkpoint: "Checkpoint") -> Tensors:
    """Translations of the first sentences, and their caches."""
    import torch

    sentences = encoded(checkpoint)
    src_lengths = sentences["src_lengths"][:TRANSLATED]
    src = sentences["src"][:TRANSLATED, : int(src_lengths.max())]
    decoded, caches = checkpoint.model.inference(src, src_lengths, MAX_OUTPUT_LENGTH)
    enc_output, src_padding_mask = checkpoint.model.forward_encoder(src, src_lengths)
    for number, tokens in enumerate(decoded):
        length = torch.tensor([len(tokens) - 1])
        memory, mask = enc_output[number : number + 1], src_padding_mask[number : number + 1]
        best = checkpoint.model.forward_decoder(memory, mask, tokens[None, :-1], length).topk(2).values
        if (margin := float((best[..., 0] - best[..., 1]).min())) < CLEAR:
            raise UserError(f"sentence {number + 1} is decided by {margin:.1g}: a near tie; use another sentence")
    inputs = {"src": src, "src_lengths": src_lengths, "max_output_length": torch.tensor(MAX_OUTPUT_LENGTH)}
    return {f"sentences/{name}": tensor for name, tensor in {**inputs, **translations(decoded, caches)}.items()}


def translations(decoded: Any, caches: Any) -> Tensors:
    """The results of inference, as named tensors."""
    import torch

    return {
        "decoded": torch.cat(decoded),
        "decoded_lengths": torch.tensor([len(tokens) for tokens in decoded]),
        "num_layers": torch.tensor(len(caches[0])),
        **{f"cache.{n}.{layer}": tensor for n, cache in enumerate(caches) for layer, tensor in enumerate(cache)},
    }


def tiny(modules: SimpleNamespace) -> Tensors:
    """A small model's translations of two sentences: one ends early, and one not at all."""
    import torch

    def model(eos_idx: int) -> Any:
        made = modules.transformer.Transformer(**TINY, eos_idx=eos_idx).double().eval()
        weights = tiny_weights({name: tuple(weight.shape) for name, weight in made.state_dict().items()})
        made.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
        return made

    call = {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in TINY_SENTENCES.items()
    }
    (first, second), _ = model(-1).inference(**call)  # no token is eos
    eos = int(first[2])
    if eos in first[:2] or eos in second or len(set(second.tolist())) < len(second):
        raise UserError(f"no token ends one small sentence and not the other: {first.tolist()}, {second.tolist()}")
    found = translations(*model(eos).inference(**call))
    return {f"tiny/{name}": tensor for name, tensor in {"eos_idx": torch.tensor(eos), **found}.items()}


def stored_tensors() -> Iterator[tuple[str, Tensors]]:
    """Yield the stored tensors of each stage, computed by the reference modules."""
    from autograder.manifest import assignment
    from course.checkpoint import load_checkpoint
    from course.modules import load_modules

    rng = np.random.Generator(np.random.PCG64(20170612))
    modules = load_modules(assignment("transformer").solution)
    checkpoint = load_checkpoint(modules=modules)
    checkpoint.model.double()
    yield "mha", mha(modules, rng)
    yield "pe", pe(modules, rng)
    encoder_layer, decoder_layer = modules.encoder.TransformerEncoderLayer, modules.decoder.TransformerDecoderLayer
    yield "encoder", encoder(checkpoint) | layer(encoder_layer, decoder=False)
    yield "decoder", decoder(checkpoint, rng) | layer(decoder_layer, decoder=True)
    yield "inference", inference(checkpoint) | layer(decoder_layer, decoder=True, cache=True) | tiny(modules)
