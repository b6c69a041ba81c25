"""Decode whole batches, greedily or with beam search, for evaluation. The graded code is `Transformer.inference`."""

import math
from typing import Any

import torch

from course.config import BOS, EOS, PAD
from course.text import in_batches, pad
from course.translation.kv_cache import CachedDecoder


class OwnDecoder:
    """A variant of `CachedDecoder` that runs the model's own `forward_decoder` on all tokens so far at every step."""

    def __init__(self, model: Any, memory: torch.Tensor, padding_mask: torch.Tensor) -> None:
        self.model, self.memory, self.padding_mask = model, memory, padding_mask
        self.tgt = torch.empty(memory.size(0), 0, dtype=torch.long, device=memory.device)

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the scores of the next tokens, (B, vocabulary), given the newest tokens, (B,)."""
        self.tgt = torch.cat([self.tgt, tokens[:, None]], dim=1)
        # The tokens so far have no padding, so all lengths are equal.
        lengths = torch.full_like(tokens, self.tgt.size(1))
        return self.model.forward_decoder(self.memory, self.padding_mask, self.tgt, lengths)[:, -1]

    def select(self, rows: torch.Tensor, sentences: torch.Tensor) -> None:
        self.tgt, self.memory, self.padding_mask = self.tgt[rows], self.memory[sentences], self.padding_mask[sentences]


def longest_translation(model: Any, source: list[int], limit: int | None = None) -> int:
    """The maximum number of tokens in a translation: `limit`, or 1.5 times the source length plus 10."""
    return min(limit or len(source) * 3 // 2 + 10, model.positional_encoding.pe.size(1) - 1)


@torch.inference_mode()
def greedy_decode(
    model: Any, sources: list[list[int]], max_tokens: int = 4096, cache: bool = False, limit: int | None = None
) -> list[list[int]]:
    """Translate many sentences at once.

    Args:
        model: a `Transformer`.
        sources: token indices with BOS and EOS.
        max_tokens: the padded size of one batch; with 1 each sentence is its own batch.
        cache: use a KV cache (`CachedDecoder`); otherwise the model's own decoder recomputes everything.
        limit: the maximum number of tokens in a translation; None means 1.5 times the source length + 10.

    Returns:
        Predicted token indices without BOS and EOS, in the order of `sources`.
    """
    device = next(model.parameters()).device
    model.eval()
    results: list[list[int]] = [[] for _ in sources]
    for rows in in_batches(sources, max_tokens):  # the unfinished sentences
        memory, padding_mask = model.forward_encoder(*_padded([sources[index] for index in rows], device))
        decoder = (CachedDecoder if cache else OwnDecoder)(model, memory, padding_mask)
        limits = {index: longest_translation(model, sources[index], limit) for index in rows}
        tokens = torch.full((len(rows),), BOS, device=device)
        while rows:
            scores = decoder(tokens)
            scores[:, PAD] = -torch.inf
            tokens = scores.argmax(dim=-1)
            going = []
            for row, (index, token) in enumerate(zip(rows, tokens.tolist(), strict=True)):
                if token != EOS:
                    results[index].append(token)
                    if len(results[index]) < limits[index]:
                        going.append(row)
            if 0 < len(going) < len(rows):
                kept = torch.tensor(going, device=device)
                tokens = tokens[kept]
                decoder.select(kept, kept)
            rows = [rows[row] for row in going]
    return results


@torch.inference_mode()
def beam_search(
    model: Any,
    sources: list[list[int]],
    beam: int = 4,
    length_penalty: float = 0.6,
    max_tokens: int = 4096,
    limit: int | None = None,
) -> list[list[int]]:
    """Translate many sentences at once, following the `beam` most probable prefixes of each.

    Every token lowers the log-probability. So the score of a finished translation of n tokens is its log-probability
    divided by ((5 + n) / 6) ** length_penalty, as in section 6.1 of the paper. The search for a sentence ends when
    none of its prefixes can still beat the best finished translation.

    Args:
        model: a `Transformer`.
        sources: token indices with BOS and EOS.
        beam: the number of prefixes; 1 is greedy decoding.
        length_penalty: 0 compares log-probabilities; larger values favour longer translations. Not negative.
        max_tokens: the padded size of one batch, counting all beams.
        limit: as in `greedy_decode`.

    Returns:
        Token indices without BOS and EOS, in the order of `sources`.
    """
    if beam == 1:
        return greedy_decode(model, sources, max_tokens, cache=True, limit=limit)
    device = next(model.parameters()).device
    model.eval()
    results: list[list[int]] = [[] for _ in sources]
    for rows in in_batches(sources, max(1, max_tokens // beam)):  # the unfinished sentences
        memory, padding_mask = model.forward_encoder(*_padded([sources[index] for index in rows], device))
        decoder = CachedDecoder(model, memory, padding_mask, width=beam)
        limits = [longest_translation(model, sources[index], limit) for index in rows]
        finished: dict[int, tuple[float, list[int]]] = {}  # sentence -> best score, tokens
        tgt = torch.full((len(rows) * beam, 1), BOS, device=device)
        totals = torch.full((len(rows), beam), -torch.inf, dtype=memory.dtype, device=device)
        totals[:, 0] = 0  # at first all rows of a sentence are equal: only one counts
        while rows:
            log_probs = decoder(tgt[:, -1]).log_softmax(dim=-1)
            log_probs[:, PAD] = -torch.inf
            vocabulary, length = log_probs.size(1), tgt.size(1)
            candidates = (totals.view(-1, 1) + log_probs).view(len(rows), -1)  # (B, beam * vocabulary)
            # Each prefix can end in only one way, so among twice as many candidates, enough continue.
            values, places = candidates.topk(2 * beam, dim=1)
            first = torch.arange(len(rows), device=device)[:, None] * beam
            origins, tokens = first + places // vocabulary, places % vocabulary  # (B, 2 * beam)
            ends = tokens == EOS
            for group, rank in ends[:, :beam].nonzero().tolist():
                worth = float(values[group, rank]) * _factor(length, length_penalty)
                if worth > finished.get(rows[group], (-math.inf, []))[0]:
                    finished[rows[group]] = (worth, tgt[origins[group, rank], 1:].tolist())
            totals, chosen = values.masked_fill(ends, -torch.inf).topk(beam, dim=1)  # (B, beam)
            origin = origins.gather(1, chosen).flatten()
            tgt = torch.cat([tgt[origin], tokens.gather(1, chosen).view(-1, 1)], dim=1)
            going = []
            for group, (index, longest, total) in enumerate(zip(rows, limits, totals[:, 0].tolist(), strict=True)):
                # A log-probability never grows, so this is the maximum score of the best prefix.
                hope = total * _factor(longest, length_penalty)
                worth, text = finished.get(index, (-math.inf, tgt[group * beam, 1:].tolist()))
                if length == longest or worth >= hope:
                    results[index] = text  # the best prefix, if no translation is finished
                else:
                    going.append(group)
            if len(going) == len(rows):
                decoder.select(origin)
            elif going:
                groups = torch.tensor(going, device=device)
                kept = (groups[:, None] * beam + torch.arange(beam, device=device)).flatten()
                tgt, totals = tgt[kept], totals[groups]
                decoder.select(origin[kept], groups)
            rows, limits = [rows[group] for group in going], [limits[group] for group in going]
    return results


def _factor(length: int, length_penalty: float) -> float:
    return (6 / (5 + length)) ** length_penalty


def _padded(sources: list[list[int]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    tokens, lengths = pad(sources)
    return tokens.to(device), lengths.to(device)
