"""Stage 7, extra credit: speculative decoding (Leviathan and others, 2023; Chen and others, 2023).

A cheap draft model guesses K tokens, and the target model checks all of them in one call. In shapes, V = vocabulary.
"""

from collections.abc import Callable, Iterator

import torch

Model = Callable[[torch.Tensor], torch.Tensor]  # tokens (T,) -> the probabilities after each of them, (T, V)


def draw(probabilities: torch.Tensor, u: float) -> int:
    """Draw a token with a given random number: the first token whose cumulative weight is larger than u * total.

    The cumulative weight of a token is the sum of the weights up to and including this token; the total is the sum of
    all weights. So a token of weight 0 is never drawn.

    Args:
        probabilities: weights that are at least 0, (V,), and not all 0. They need not add up to 1.
        u: a number that is at least 0 and smaller than 1.

    Returns:
        The token.
    """
    raise NotImplementedError("Stage 7: draw is not written yet")


def verify(target: torch.Tensor, draft: torch.Tensor, tokens: list[int], accept: list[float], u: float) -> list[int]:
    """Keep some of the guessed tokens and add one, so that all are distributed as if the target had drawn them.

    Go through the guesses in order. Guess i is kept if accept[i] * draft[i, token] < target[i, token]. At the first
    guess that is not kept, use u to draw a token from the residual max(target[i] - draft[i], 0) instead, and stop.
    If all are kept, draw one more token from target[K] with u.

    Args:
        target: probabilities of the target model, (K + 1, V): before each guess, and after the last one.
        draft: probabilities of the draft model, from which the guesses were drawn, (K, V).
        tokens: the K guesses.
        accept: K numbers that are at least 0 and smaller than 1.
        u: one more such number.

    Returns:
        1 to K + 1 tokens.
    """
    raise NotImplementedError("Stage 7: verify is not written yet")


def speculate(
    target: Model, draft: Model, prompt: list[int], length: int, K: int, uniforms: Iterator[float]
) -> tuple[list[int], int]:
    """Generate tokens, K guesses at a time.

    Each round: the draft model draws K guesses one after the other, each from the probabilities after all tokens so
    far, guesses included. The target model reads the tokens and all guesses in one call. `verify` then decides. Repeat
    until there are `length` new tokens; drop any extra tokens.

    The random numbers are used in this order: in each round, one for each guess, then K for `accept`, then one for u.

    Args:
        target: the target model.
        draft: the draft model.
        prompt: at least one token.
        length: the number of new tokens.
        K: guesses per round, at least 1.
        uniforms: random numbers; `next(uniforms)` returns the next one.

    Returns:
        The new tokens, and the number of calls to the target model.
    """
    raise NotImplementedError("Stage 7: speculate is not written yet")
