"""Stage 4: generate text with a language model, token by token, with a cache of keys and values.

In shapes, B = batch, H = heads, V = vocabulary, T_past = number of tokens read before, T_new = number of tokens read
now.
"""

import math

import torch
import torch.nn.functional as F
from language_model import DecoderTransformer

# For each layer the keys and values of the tokens read so far, (B, H, T_past, d_head) each.
Cache = list[tuple[torch.Tensor, torch.Tensor]]


def forward_cached(
    model: DecoderTransformer, tokens: torch.Tensor, cache: Cache | None = None
) -> tuple[torch.Tensor, Cache]:
    """Read more tokens: return what `model(all tokens)` returns at the new positions, without rereading the old ones.

    In each layer, project only the new tokens. Append their keys and values to the cached ones. The new queries attend
    to all of them. The query of the i-th new token attends to the T_past old keys and to the new keys up to its own.
    The new tokens are at positions T_past, T_past + 1, ... All other steps treat each position separately. Use the
    parts that the model's constructor creates (`model.blocks[0].attention.W_qkv`, ...). There is no dropout, because
    text is generated in evaluation mode.

    Args:
        model: the language model of stage 3.
        tokens: (B, T_new). Without a cache, T_new is at least 1 (the whole prompt is read at once); with a cache it is
            1, a single step.
        cache: the cache returned by the previous call, a list with a pair (keys, values) for each layer,
            (B, H, T_past, d_head) each; None in the first call.

    Returns:
        logits: (B, T_new, V), scores before the softmax, as in `DecoderTransformer.forward`.
        new_cache: a list with a pair (keys, values) for each layer, (B, H, T_past + T_new, d_head) each. The cache
            passed in does not change.

    Raises:
        ValueError: if T_past + T_new is larger than `model.max_len`. The message names both numbers.
    """
    raise NotImplementedError("Stage 4: forward_cached is not written yet")


def filter_logits(
    logits: torch.Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> torch.Tensor:
    """Sharpen or flatten a distribution and cut off its tail, in this order:

    1. divide the logits by the temperature;
    2. top-k: keep the k largest logits (all, if k is larger than V);
    3. top-p (Holtzman et al., 2020): sort the remaining tokens by probability, and keep the smallest number of tokens
       whose probabilities together reach p. Use the probabilities after the first two steps, which add up to 1 again.
       The token that makes the sum reach p is kept, so the best token always remains. p = 1 keeps all tokens.

    Args:
        logits: (..., V), with any number of axes before the last; each row is filtered separately. The argument
            does not change.
        temperature: larger than 0.
        top_k: at least 1; None skips the step.
        top_p: above 0 and up to 1; None skips the step.

    Returns:
        (..., V): logits whose softmax is the new distribution. A token that is cut off gets the logit -inf, so its
        probability is exactly 0. Tests compare the softmax, so any other logits with the same softmax are fine.
        Ties at the cut-off are not graded.
    """
    raise NotImplementedError("Stage 4: filter_logits is not written yet")


@torch.no_grad()
def generate(
    model: DecoderTransformer,
    prompt: torch.Tensor,
    max_new_tokens: int,
    generator: torch.Generator | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> torch.Tensor:
    """Continue prompts, token by token: read the prompt, then each new token with the cache.

    Without a generator, take the best token at every step (greedy; the last three arguments are ignored). With a
    generator, draw each token from the softmax of `filter_logits(logits, temperature, top_k, top_p)`. Draw all random
    numbers from this generator, so that the same seed gives the same text. How you draw is up to you, for instance with
    `torch.multinomial(probabilities, 1, generator=generator)`.

    Args:
        model: a language model in evaluation mode.
        prompt: (B, T) with T from 1 to `model.max_len`. All prompts of a batch have the same length.
        max_new_tokens: the number of tokens to add to each prompt; it may be 0.
        generator: the source of random numbers, or None for greedy decoding.
        temperature: as in `filter_logits`.
        top_k: as in `filter_logits`.
        top_p: as in `filter_logits`.

    Returns:
        (B, T + new): the prompts and the new tokens. No text gets longer than `model.max_len` tokens: generation
        stops at that length. The prompt itself does not change. No token ends the generation: the code that displays a
        text cuts it off after the end token.
    """
    raise NotImplementedError("Stage 4: generate is not written yet")
