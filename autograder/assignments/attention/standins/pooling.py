"""Stand-in for pooling.py: kernels written with torch's own functions, and pooling with a loop over the queries."""

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F


def gaussian(u: torch.Tensor) -> torch.Tensor:
    """exp(-u^2 / 2), element by element."""
    return torch.exp(-u.square() / 2)


def constant(u: torch.Tensor) -> torch.Tensor:
    """1 everywhere."""
    return torch.ones_like(u)


def boxcar(u: torch.Tensor) -> torch.Tensor:
    """1 for u <= 1, otherwise 0."""
    return torch.heaviside(1 - u, torch.ones_like(u))


def triangular(u: torch.Tensor) -> torch.Tensor:
    """1 - u for u <= 1, otherwise 0."""
    return F.relu(1 - u)


def epanechnikov(u: torch.Tensor) -> torch.Tensor:
    """3/4 (1 - u^2) for u <= 1, otherwise 0."""
    return F.relu(1 - u.square()) * 3 / 4


def _pool(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    kernel: Callable[..., torch.Tensor],
    width: float | torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The estimate for one query, (d,), and its weights, (n_k,)."""
    if not len(keys):
        raise ValueError(f"there are no keys to attend to: they have the shape {tuple(keys.shape)}")
    distances = F.pairwise_distance(query, keys, eps=0.0)  # (n_k,)
    near = kernel(distances / width)
    if not near.any():
        near = (distances == distances.min()).to(values.dtype)
    weights = F.normalize(near, p=1.0, dim=0, eps=0.0)
    return values.T @ weights, weights


def attention_pooling(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    kernel: Callable[..., torch.Tensor],
    width: float | torch.Tensor = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """queries (n_q, d), keys (n_k, d), values (n_k, d_v) -> the estimates (n_q, d_v) and the weights (n_q, n_k)."""
    pooled = [_pool(query, keys, values, kernel, width) for query in queries]
    return torch.stack([estimate for estimate, _ in pooled]), torch.stack([weights for _, weights in pooled])


class KernelRegression(nn.Module):
    """Attention pooling with a learned width."""

    def __init__(self, kernel: Callable[..., torch.Tensor] = gaussian, width: float = 1.0) -> None:
        super().__init__()
        self.kernel = kernel
        self.log_width = nn.Parameter(torch.tensor(math.log(width)))

    def forward(
        self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Estimates (n_q, d_v) and weights (n_q, n_k)."""
        pooled = [_pool(query, keys, values, self.kernel, self.log_width.exp()) for query in queries]
        return torch.stack([estimate for estimate, _ in pooled]), torch.stack([weights for _, weights in pooled])

    def leave_one_out(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Predictions (n, d_v) from all other pairs, and weights (n, n) with zeros on the diagonal."""
        predictions, looks = [], []
        for number, query in enumerate(keys):
            other_keys, other_values = (torch.cat([rows[:number], rows[number + 1 :]]) for rows in (keys, values))
            prediction, weights = _pool(query, other_keys, other_values, self.kernel, self.log_width.exp())
            predictions.append(prediction)
            looks.append(torch.cat([weights[:number], weights.new_zeros(1), weights[number:]]))
        return torch.stack(predictions), torch.stack(looks)
