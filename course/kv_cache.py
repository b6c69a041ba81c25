"""Greedy decoding in two other ways than stage 5: all positions anew at every step, and with a true KV cache."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F


@dataclass(frozen=True)
class Step:
    """One step of greedy decoding."""

    tokens: list[int]  # the tokens so far, the first is sos
    log_probs: torch.Tensor  # (vocabulary,), of the next token

    @property
    def best(self) -> int:
        return int(self.log_probs.argmax())


def next_log_probs(model: Any, memory: torch.Tensor, tokens: list[int]) -> torch.Tensor:
    """Logarithms of the probabilities of the token that follows, (vocabulary,).

    Args:
        model: a `Transformer`.
        memory: the encoder's output for one sentence without padding, (1, T_e, d_model).
        tokens: the target so far.
    """
    tgt = torch.tensor([tokens])
    mask = torch.zeros(1, memory.size(1), dtype=torch.long)
    scores = model.forward_decoder(memory, mask, tgt, torch.tensor([len(tokens)]))
    return scores[0, -1].log_softmax(dim=-1)


@torch.no_grad()
def full_steps(model: Any, source: list[int], limit: int) -> Iterator[Step]:
    """Decode one sentence and keep nothing: every step runs all layers and the output layer at all positions."""
    memory, _ = model.forward_encoder(torch.tensor([source]), torch.tensor([len(source)]))
    tokens = [model.sos_idx]
    for _ in range(limit):
        layers = [CachedLayer(layer, memory) for layer in model.decoder.layers]
        step = Step(list(tokens), newest(model, layers, tokens, start=0))
        yield step
        tokens.append(step.best)


@torch.no_grad()
def kv_steps(model: Any, source: list[int], limit: int) -> Iterator[Step]:
    """Decode one sentence with a KV cache: a layer is given the newest position only and keeps its key and value."""
    memory, _ = model.forward_encoder(torch.tensor([source]), torch.tensor([len(source)]))
    layers = [CachedLayer(layer, memory) for layer in model.decoder.layers]
    tokens = [model.sos_idx]
    for _ in range(limit):
        step = Step(list(tokens), newest(model, layers, tokens, start=len(tokens) - 1))
        yield step
        tokens.append(step.best)


def newest(model: Any, layers: "list[CachedLayer]", tokens: list[int], start: int) -> torch.Tensor:
    """Give the tokens from position `start` on to the layers: log-probabilities of the next token, (vocabulary,)."""
    embedded = model.decoder_embedding(torch.tensor([tokens[start:]]))  # (1, T_new, d_model)
    x = embedded + model.positional_encoding.pe[:, start : len(tokens)]
    for layer in layers:
        x = layer(x)
    return model.decoder.output_layer(x)[0, -1].log_softmax(dim=-1)


class CachedLayer:
    """A decoder layer in evaluation, with the keys and values that it has seen."""

    def __init__(self, layer: Any, memory: torch.Tensor) -> None:
        self.layer = layer
        self.keys = self.values = torch.empty(1, layer.self_attn.num_heads, 0, layer.self_attn.d_k)
        # The source does not change: its keys and values are computed once for the whole translation.
        self.memory_keys = heads(layer.encoder_attn, layer.encoder_attn.W_k(memory))
        self.memory_values = heads(layer.encoder_attn, layer.encoder_attn.W_v(memory))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The outputs at new positions from the inputs there, (1, T_new, d_model).

        Either all positions are new, or one.
        """
        own, cross = self.layer.self_attn, self.layer.encoder_attn
        self.keys = torch.cat([self.keys, heads(own, own.W_k(x))], dim=2)  # (1, H, T, d_k)
        self.values = torch.cat([self.values, heads(own, own.W_v(x))], dim=2)
        several = x.size(1) > 1  # a single new position may look at everything: nothing later is there
        sublayers = (
            (lambda y: attend(own, y, self.keys, self.values, several), self.layer.self_attn_layer_norm),
            (lambda y: attend(cross, y, self.memory_keys, self.memory_values), self.layer.encoder_attn_layer_norm),
            (lambda y: self.layer.fc2(F.relu(self.layer.fc1(y))), self.layer.final_layer_norm),
        )
        for sublayer, norm in sublayers:
            x = norm(x + sublayer(x))
        return x


def heads(attention: Any, x: torch.Tensor) -> torch.Tensor:
    """(1, T, d_model) -> (1, H, T, d_k)."""
    return x.unflatten(-1, (attention.num_heads, attention.d_k)).transpose(1, 2)


def attend(
    attention: Any, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, causal: bool = False
) -> torch.Tensor:
    """Attention of the positions of x to kept keys and values, (1, H, T, d_k): (1, T_new, d_model)."""
    mixed = F.scaled_dot_product_attention(heads(attention, attention.W_q(x)), keys, values, is_causal=causal)
    return attention.W_o(mixed.transpose(1, 2).flatten(2))
