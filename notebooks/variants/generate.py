"""Stage 4: text from a language model, token by token, with a cache of keys and values.

Shapes are written with B = batch, H = heads, V = vocabulary, T_past = tokens that were read before, T_new = tokens that
are read now.
"""

import math

import torch
import torch.nn.functional as F
from language_model import DecoderTransformer

# For each layer the keys and the values of the tokens that were read, (B, H, T_past, d_head) each.
Cache = list[tuple[torch.Tensor, torch.Tensor]]


def forward_cached(
    model: DecoderTransformer, tokens: torch.Tensor, cache: Cache | None = None
) -> tuple[torch.Tensor, Cache]:
    """Read more tokens: what `model(all tokens)` gives at the new positions, without reading the old ones again.

    In each layer only the new tokens are projected. Their keys and values are put behind those of the cache, and the
    new queries attend to all of them: the query of the i-th new token to the T_past old keys and to the new ones up to
    its own. The new tokens stand at the positions T_past, T_past + 1, ... All other steps treat each position by
    itself. The parts of the model are those that its constructor makes (`model.blocks[0].attention.W_qkv`, ...); there
    is no dropout here, for text is generated in evaluation mode.

    Args:
        model: the language model of stage 3.
        tokens: (B, T_new). Without a cache T_new is any number from 1 on (the prompt is read in one go); with one it is
            1, a step.
        cache: what the call before returned, a list with a pair (keys, values) for each layer, (B, H, T_past, d_head)
            each; None at the first call.

    Returns:
        logits: (B, T_new, V), scores before the softmax, as `DecoderTransformer.forward` gives them.
        new_cache: a list with a pair (keys, values) for each layer, (B, H, T_past + T_new, d_head) each. The given
            cache is left as it is.

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
    3. top-p (Holtzman et al., 2020): order what is left by its probability, and keep the smallest number of tokens
       whose probabilities together reach p. The probabilities are those after the first two steps, and they add up
       to 1 again. The token with which the sum reaches p is kept, so the best token is always there. p = 1 keeps all.

    Args:
        logits: (..., V), with any number of axes before the last; each row is filtered by itself. They are left as
            they are.
        temperature: larger than 0.
        top_k: at least 1; None leaves the step out.
        top_p: above 0 and up to 1; None leaves the step out.

    Returns:
        (..., V): logits whose softmax is the new distribution. A token that is cut off gets the logit -inf, so that its
        probability is exactly 0. Tests look at the softmax, so any other logits with the same softmax are right too.
        Tokens with equal logits at a border are not graded.
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

    Without a generator the best token is taken at every step (greedy; the last three arguments do not matter). With
    one, each token is drawn from the softmax of `filter_logits(logits, temperature, top_k, top_p)`, and all random
    numbers come from this generator, so that the same seed gives the same text. How they are drawn is up to you, with
    `torch.multinomial(probabilities, 1, generator=generator)` for instance.

    Args:
        model: a language model in evaluation mode.
        prompt: (B, T) with T from 1 to `model.max_len`. All prompts of a batch have the same length.
        max_new_tokens: how many tokens to add to each prompt. It may be 0.
        generator: the source of random numbers, or None for greedy decoding.
        temperature: as in `filter_logits`.
        top_k: as in `filter_logits`.
        top_p: as in `filter_logits`.

    Returns:
        (B, T + new): the prompts and what was added. It ends early when it has `model.max_len` tokens: never more.
        The prompt itself is left as it is. No token ends a text: what stands behind an end token is cut off by
        whoever shows it.
    """
    raise NotImplementedError("Stage 4: generate is not written yet")
