"""Speculative decoding: the distribution of the tokens, integrated exactly."""

import itertools

import pytest
import torch

from course.location import course_folder
from course.modules import load_modules

speculative = load_modules(course_folder() / "solutions" / "llm", ("speculative",)).speculative


def cells(borders: list[float]) -> list[tuple[float, float]]:
    """The centres and widths of the cells between boundaries in [0, 1]."""
    edges = sorted({0.0, 1.0, *(border for border in borders if 0 < border < 1)})
    return [((low + high) / 2, high - low) for low, high in itertools.pairwise(edges)]


@pytest.mark.parametrize("seed", range(3))
def test_the_first_two_tokens_are_distributed_exactly_as_in_the_target(seed):
    generator = torch.Generator().manual_seed(seed)
    p, q = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64).mul(1.5).softmax(dim=-1)
    q = q[:2]
    p[0, seed] = 0  # a token that the target never draws
    p /= p.sum(dim=1, keepdim=True)
    weights = [*(p[:2] - q).clamp(min=0), p[2]]
    of_u = cells([share for row in weights for share in (row.cumsum(0) / row.sum()).tolist()])
    ratios = [cells((p[i] / q[i]).tolist()) for i in range(2)]
    found = torch.zeros(4, 4, dtype=torch.float64)
    for guesses in itertools.product(range(4), repeat=2):
        for (a, wide_a), (b, wide_b), (u, wide_u) in itertools.product(*ratios, of_u):
            share = q[0, guesses[0]] * q[1, guesses[1]] * wide_a * wide_b * wide_u
            first, *others = speculative.verify(p, q, list(guesses), [a, b], u)
            # The target would draw a missing second token in the next round.
            found[first] += share * (torch.eye(4, dtype=torch.float64)[others[0]] if others else p[1])
    torch.testing.assert_close(found, p[0][:, None] * p[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("K", [1, 2, 5])
def test_a_target_without_chance_writes_its_own_text_whatever_the_draft_guesses(K):
    generator = torch.Generator().manual_seed(K)
    certain = torch.eye(6)[torch.randint(6, (11,), generator=generator)]
    draft = torch.randn(11, 6, generator=generator).softmax(dim=-1)
    text = [3]
    for _ in range(20):
        text.append(int(certain[sum(text) % 11].argmax()))
    numbers = iter(torch.rand(500, generator=generator).tolist())
    new, calls = speculative.speculate(
        lambda tokens: certain[tokens.cumsum(0) % 11], lambda tokens: draft[tokens.cumsum(0) % 11], [3], 20, K, numbers
    )
    assert new == text[1:]
    assert 20 / (K + 1) <= calls <= 20
