"""Stage 5: look inside a language model from `lm.py`.

In shapes, L = layers, B = batch, T = positions, H = query heads, V = vocabulary. Nothing here needs gradients (you need
not switch them off), and nothing changes the weights.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from lm import LanguageModel, hidden_keys


@dataclass(frozen=True)
class Run:
    """The intermediate results of a model for a batch of tokens.

    Attributes:
        stream: the residual stream before the first layer and after each layer, (L + 1, B, T, d_model).
        weights: the attention weights, (L, B, H, T, T), a row for each query.
        heads: the outputs of the heads before W_o, (L, B, T, H, d_head).
        mlps: the outputs of the feed-forward networks, which are added to the stream, (L, B, T, d_model).
    """

    stream: torch.Tensor
    weights: torch.Tensor
    heads: torch.Tensor
    mlps: torch.Tensor


@torch.no_grad()
def run(model: LanguageModel, tokens: torch.Tensor) -> Run:
    """Given: run a model from `lm.py` (norms before the sub-layers) on tokens, (B, T); keep intermediate results."""
    x, T = model.embedding(tokens), tokens.size(1)
    stream, weights, heads, mlps = [x], [], [], []
    for block in model.blocks:
        layer = block.attention
        q, k, v = layer.project(block.norm1(x), 0)
        share = layer.num_heads // layer.num_kv_heads
        k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)  # (B, H, T, d_head)
        scores = q @ k.transpose(-2, -1) / math.sqrt(layer.d_head)
        weights.append(scores.masked_fill(hidden_keys(0, T, 0, layer.window), -math.inf).softmax(dim=-1))
        heads.append((weights[-1] @ v).transpose(1, 2))  # (B, T, H, d_head)
        x = x + layer.W_o(heads[-1].flatten(2))
        mlps.append(block.feed_forward(block.norm2(x)))
        x = x + mlps[-1]
        stream.append(x)
    return Run(torch.stack(stream), torch.stack(weights), torch.stack(heads), torch.stack(mlps))


def logit_lens(model: LanguageModel, stream: torch.Tensor) -> torch.Tensor:
    """Ask after each layer: what would the model predict if it ended here?

    To answer, apply the model's final norm and its output layer to the stream. The output layer is the embedding
    matrix.

    Args:
        model: a language model.
        stream: the residual streams, (L + 1, B, T, d_model).

    Returns:
        The logits, (L + 1, B, T, V). The last entry is the output of the model itself.
    """
    raise NotImplementedError("Stage 5: logit_lens is not written yet")


def attribution(
    model: LanguageModel, stream: torch.Tensor, heads: torch.Tensor, mlps: torch.Tensor, target: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Split a token's logit into the contributions of the embedding, each head and each feed-forward network.

    The last stream is a sum: the embedded tokens, the output of W_o in each layer (itself a sum over the heads), and
    the output of each network. The final norm multiplies by its weight and divides by the root mean square of the last
    stream (with the `eps` of the norm). Use this divisor for every contribution. Then the
    contributions add up to the logit.

    Args:
        model: a language model.
        stream, heads, mlps: as in `Run`.
        target: the token whose logit is split at each position, (B, T).

    Returns:
        embedding: (B, T).
        heads: (L, H, B, T).
        mlps: (L, B, T).
    """
    raise NotImplementedError("Stage 5: attribution is not written yet")


def induction_score(weights: torch.Tensor, period: int) -> torch.Tensor:
    """Measure how much each head attends to the token after the previous occurrence of the current token.

    In a text that repeats itself, position t has the same token as position t - period. An induction head at t attends
    one position after t - period, to t - period + 1. The score of a head is its mean weight from t to t - period + 1,
    over all sequences and all t from `period` on. Earlier positions do not count.

    Args:
        weights: attention weights, (L, B, H, T, T), a row for each query.
        period: at least 2 and less than T.

    Returns:
        (L, H).
    """
    raise NotImplementedError("Stage 5: induction_score is not written yet")


@torch.no_grad()
def ablate(model: LanguageModel, tokens: torch.Tensor, heads: Collection[tuple[int, int]]) -> torch.Tensor:
    """Run the model on tokens with some of its heads switched off.

    The output of such a head is replaced by 0 before W_o mixes the heads; everything else is computed as usual, and
    later layers see the difference. After the call, the model is unchanged.

    Args:
        model: a language model, in evaluation mode.
        tokens: (B, T).
        heads: pairs (layer, query head), both counted from 0.

    Returns:
        The logits, (B, T, V).
    """
    raise NotImplementedError("Stage 5: ablate is not written yet")
