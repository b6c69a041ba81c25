"""Record everything that a model computes while its own code translates one sentence."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch

from course.read_attention import AttentionMaps, attention_maps
from course.translation.decoding import longest_translation

LONGEST = 40  # the most tokens in a translation


@dataclass(frozen=True)
class Trace:
    """The computations of a model for one sentence."""

    maps: AttentionMaps  # with teacher forcing on the model's own translation
    streams: dict[str, dict[str, torch.Tensor]]  # "encoder", "decoder" -> point in the residual stream -> (T, d)
    scores: torch.Tensor = field(default_factory=lambda: torch.empty(0, 0))  # (steps, vocabulary)
    chosen: list[int] = field(default_factory=list)  # the token appended at each step

    @property
    def steps(self) -> int:
        return len(self.chosen)


@torch.no_grad()
def trace(model: Any, source: list[int]) -> Trace:
    """Translate greedily with the model's own `forward_encoder` and `forward_decoder`, and record the computations.

    Args:
        model: any model with the interface of the course. Dropout is off, whatever the model's mode.
        source: token indices with BOS and EOS.

    Raises:
        NotImplementedError: if the encoder is not written. Without a decoder, the trace contains only the encoder.
    """
    training = model.training
    model.eval()
    try:
        src = torch.tensor([source])
        scores, chosen = torch.empty(0, 0), list[int]()
        with suppress(NotImplementedError):
            scores, chosen = _greedy(model, src)
        tgt = torch.tensor([[model.sos_idx, *chosen[:-1]]]) if chosen else None
        with _recorded_streams(model) as streams:
            maps = attention_maps(model, src, tgt)
        return Trace(maps, streams, scores, chosen)
    finally:
        model.train(training)


def _greedy(model: Any, src: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """Return the scores of each step, (steps, vocabulary), and the chosen tokens."""
    memory, mask = model.forward_encoder(src, torch.tensor([src.size(1)]))
    rows, tokens = [], [model.sos_idx]
    for _ in range(longest_translation(model, src[0].tolist(), None)):
        if tokens[-1] == model.eos_idx or len(tokens) > LONGEST:
            break
        scores = model.forward_decoder(memory, mask, torch.tensor([tokens]), torch.tensor([len(tokens)]))
        rows.append(scores[0, -1])
        tokens.append(int(rows[-1].argmax()))
    return torch.stack(rows), tokens[1:]


@contextmanager
def _recorded_streams(model: Any) -> Iterator[dict[str, dict[str, torch.Tensor]]]:
    """Record the residual streams: after the embedding, after adding the positions, and after each sub-layer."""
    streams: dict[str, dict[str, torch.Tensor]] = {}

    def keep(side: str, station: str) -> Callable[..., None]:
        def hook(module: Any, args: Any, output: torch.Tensor) -> None:
            streams.setdefault(side, {})[station] = output[0]  # (1, T, d) -> (T, d)

        return hook

    def keep_positions(module: Any, args: Any, output: torch.Tensor) -> None:
        side = "decoder" if "decoder" in streams else "encoder"  # both share one position table; the encoder runs first
        streams.setdefault(side, {})["with positions"] = output[0]

    hooks = [
        (model.encoder_embedding, keep("encoder", "embedding")),
        (model.decoder_embedding, keep("decoder", "embedding")),
        (model.positional_encoding, keep_positions),
    ]
    sublayers = {
        "self_attn_layer_norm": "self-attention",
        "encoder_attn_layer_norm": "cross-attention",
        "final_layer_norm": "feed-forward",
    }
    for side, layers in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers)):
        for number, layer in enumerate(layers):
            for norm, name in sublayers.items():
                if getattr(layer, norm, None) is not None:
                    hooks.append((getattr(layer, norm), keep(side, f"layer {number}, {name}")))
    handles = [module.register_forward_hook(hook) for module, hook in hooks]
    try:
        yield streams
    finally:
        for handle in handles:
            handle.remove()
