"""Stand-in for speculative.py: it draws by binary search, and compares ratios instead of products."""

import torch


def draw(probabilities: torch.Tensor, u: float) -> int:
    """Draw a token from weights (V,) with the random number u."""
    sums = torch.cumsum(probabilities.double(), 0)
    return int(torch.searchsorted(sums, sums[-1] * u, right=True))


def verify(target: torch.Tensor, draft: torch.Tensor, tokens: list[int], accept: list[float], u: float) -> list[int]:
    """Keep the guesses before the first rejected guess, then add a token."""
    K = len(tokens)
    places = torch.arange(K), torch.tensor(tokens)
    refused = torch.tensor(accept) >= target[places] / draft[places]
    kept = next((place for place in range(K) if refused[place]), K)
    weights = target[kept] if kept == K else torch.relu(target[kept] - draft[kept])
    return [*tokens[:kept], draw(weights, u)]
