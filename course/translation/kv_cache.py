"""Two alternatives to the decoding in stage 5: recomputing all positions at every step, and using a true KV cache.

The layers and weights are those of a `Transformer`; the calls are rewritten here, for many sentences at once. There are
R rows for B sentences: one per sentence in greedy decoding, and one per beam in beam search.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F


@dataclass(frozen=True)
class Step:
    """One step of greedy decoding."""

    tokens: list[int]  # the tokens so far, starting with sos
    log_probs: torch.Tensor  # (vocabulary,), of the next token

    @property
    def best(self) -> int:
        return int(self.log_probs.argmax())


def next_log_probs(model: Any, memory: torch.Tensor, tokens: list[int]) -> torch.Tensor:
    """Return the log-probabilities of the next token, (vocabulary,).

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
def full_steps(
    model: Any, source: list[int], limit: int, beginning: Sequence[int] = (), endless: bool = False
) -> Iterator[Step]:
    """Decode one sentence without a cache: every step runs all layers and the output layer at all positions.

    Args:
        model: a `Transformer`.
        source: token indices with BOS and EOS.
        limit: the maximum number of steps.
        beginning: the required start of the translation, without BOS.
        endless: continue after EOS, for measurements of long translations.
    """
    memory, _ = model.forward_encoder(torch.tensor([source]), torch.tensor([len(source)]))
    tokens = [model.sos_idx, *beginning]
    for _ in range(limit):
        layers = [CachedLayer(layer, memory) for layer in model.decoder.layers]
        x = model.decoder.output_layer(outputs(model, layers, torch.tensor([tokens]), start=0))
        step = Step(list(tokens), x[0, -1].log_softmax(dim=-1))
        yield step
        if step.best == model.eos_idx and not endless:
            return
        tokens.append(step.best)


@torch.no_grad()
def kv_steps(model: Any, source: list[int], limit: int, endless: bool = False) -> Iterator[Step]:
    """Decode one sentence with a KV cache: each layer receives only the newest position and keeps its key and value.

    The arguments are the same as those of `full_steps`.
    """
    memory, _ = model.forward_encoder(torch.tensor([source]), torch.tensor([len(source)]))
    decoder = CachedDecoder(model, memory)
    tokens = [model.sos_idx]
    for _ in range(limit):
        step = Step(list(tokens), decoder(torch.tensor(tokens[-1:]))[0].log_softmax(dim=-1))
        yield step
        if step.best == model.eos_idx and not endless:
            return
        tokens.append(step.best)


class CachedDecoder:
    """The decoder with a KV cache. Each call appends a token to every row and returns the next tokens' scores."""

    def __init__(
        self, model: Any, memory: torch.Tensor, padding_mask: torch.Tensor | None = None, width: int = 1
    ) -> None:
        """Start with empty rows.

        Args:
            model: a `Transformer`.
            memory: the encoder's output, (B, T_e, d_model).
            padding_mask: (B, T_e), non-zero where the source is padding, or None.
            width: the number of consecutive rows of each sentence.
        """
        self.model, self.length = model, 0
        allowed = None if padding_mask is None or not padding_mask.any() else padding_mask == 0
        self.layers = [CachedLayer(layer, memory, allowed, width) for layer in model.decoder.layers]

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the scores of the next tokens, (R, vocabulary), given the newest tokens, (R,)."""
        x = outputs(self.model, self.layers, tokens[:, None], start=self.length)
        self.length += 1
        return self.model.decoder.output_layer(x[:, -1])

    def select(self, rows: torch.Tensor, sentences: torch.Tensor | None = None) -> None:
        """Continue with these rows, in this order, and with these sentences (None means all sentences)."""
        for layer in self.layers:
            layer.keys, layer.values = layer.keys[rows], layer.values[rows]
            if sentences is not None:
                layer.memory_keys, layer.memory_values = layer.memory_keys[sentences], layer.memory_values[sentences]
                layer.allowed = None if layer.allowed is None else layer.allowed[sentences]


def outputs(model: Any, layers: "list[CachedLayer]", tokens: torch.Tensor, start: int) -> torch.Tensor:
    """Run the layers on tokens, (R, T_new), that begin at position `start`; return the outputs, (R, T_new, d_model)."""
    x = model.decoder_embedding(tokens) + model.positional_encoding.pe[:, start : start + tokens.size(1)]
    for layer in layers:
        x = layer(x)
    return x


class CachedLayer:
    """A decoder layer in evaluation mode, with a cache of keys and values."""

    def __init__(self, layer: Any, memory: torch.Tensor, allowed: torch.Tensor | None = None, width: int = 1) -> None:
        self.layer = layer
        attention, cross = layer.self_attn, layer.encoder_attn
        self.keys = self.values = memory.new_empty(memory.size(0) * width, attention.num_heads, 0, attention.d_k)
        # The source does not change: its keys and values are computed once for the whole translation.
        self.memory_keys = heads(cross, cross.W_k(memory))  # (B, H, T_e, d_k)
        self.memory_values = heads(cross, cross.W_v(memory))
        self.allowed = None if allowed is None else allowed[:, None, None, :]  # (B, T_e) -> (B, 1, 1, T_e)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the outputs at new positions from their inputs, (R, T_new, d_model).

        Either all positions are new, or only one position is.
        """
        layer = self.layer
        x = layer.self_attn_layer_norm(x + self.self_attention(x))
        x = layer.encoder_attn_layer_norm(x + self.cross_attention(x))
        return layer.final_layer_norm(x + layer.fc2(F.relu(layer.fc1(x))))

    def self_attention(self, x: torch.Tensor) -> torch.Tensor:
        attention = self.layer.self_attn
        self.keys = torch.cat([self.keys, heads(attention, attention.W_k(x))], dim=2)  # (R, H, T, d_k)
        self.values = torch.cat([self.values, heads(attention, attention.W_v(x))], dim=2)
        several = x.size(1) > 1  # a single new position may attend to everything: there are no later positions
        return attend(attention, x, self.keys, self.values, causal=several)

    def cross_attention(self, x: torch.Tensor) -> torch.Tensor:
        # The rows of a sentence read the same memory, so they are its queries: (R, T_new, d) -> (B, R/B * T_new, d).
        queries = x.reshape(self.memory_keys.size(0), -1, x.size(2))
        cross = self.layer.encoder_attn
        return attend(cross, queries, self.memory_keys, self.memory_values, self.allowed).view_as(x)


def heads(attention: Any, x: torch.Tensor) -> torch.Tensor:
    """Split features into heads: (B, T, d_model) -> (B, H, T, d_k)."""
    return x.unflatten(-1, (attention.num_heads, attention.d_k)).transpose(1, 2)


def attend(
    attention: Any,
    x: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    allowed: torch.Tensor | None = None,
    causal: bool = False,
) -> torch.Tensor:
    """Attend from the positions of x to cached keys and values, (B, H, T, d_k); return (B, T_new, d_model)."""
    queries = heads(attention, attention.W_q(x))
    mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=allowed, is_causal=causal)
    return attention.W_o(mixed.transpose(1, 2).flatten(2))
