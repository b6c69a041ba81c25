"""Greedy decoding of whole batches, for evaluation. The graded way is `Transformer.inference`."""

from typing import Any

import torch

from course.config import BOS, EOS, PAD
from course.text import in_batches, pad


@torch.inference_mode()
def greedy_decode(model: Any, sources: list[list[int]], max_tokens: int = 4096) -> list[list[int]]:
    """Translate many sentences at once.

    Every step runs the decoder over the tokens so far, for all sentences that are not finished.

    Args:
        model: a `Transformer`.
        sources: token indices with BOS and EOS.
        max_tokens: the padded size of one batch.

    Returns:
        predicted token indices without BOS and EOS, in the order of `sources`; at most 1.5 times the source + 10.
    """
    device = next(model.parameters()).device
    model.eval()
    results: list[list[int]] = [[] for _ in sources]
    for batch in in_batches(sources, max_tokens):
        src, src_lengths = (tensor.to(device) for tensor in pad([sources[index] for index in batch]))
        memory, src_mask = model.forward_encoder(src, src_lengths)
        limit = min(src.size(1) * 3 // 2 + 10, model.positional_encoding.pe.size(1) - 1)
        active = torch.arange(len(batch), device=device)
        tgt = torch.full((len(batch), 1), BOS, dtype=torch.long, device=device)
        for length in range(1, limit + 1):
            # Without padding among the tokens so far, the lengths are all the same.
            lengths = torch.full((len(active),), length, device=device)
            scores = model.forward_decoder(memory[active], src_mask[active], tgt, lengths)[:, -1]
            scores[:, PAD] = -torch.inf
            token = scores.argmax(dim=-1)  # (active sentences,)
            for row, value in zip(active.tolist(), token.tolist(), strict=True):
                if value != EOS:
                    results[batch[row]].append(value)
            going = token != EOS
            if not going.any():
                break
            active = active[going]
            tgt = torch.cat([tgt, token[:, None]], dim=1)[going]
    return results
