"""Stand-in for optim.py: the polynomial is applied directly to the singular values."""

import torch


def orthogonalise(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """(n, m) -> (n, m): compute the singular value decomposition, and change each singular value separately."""
    left, values, right = torch.linalg.svd(G, full_matrices=False)
    values = values / (values.square().sum().sqrt() + 1e-7)
    while steps > 0:
        values, steps = values * (3.4445 - 4.775 * values**2 + 2.0315 * values**4), steps - 1
    return left @ torch.diag(values) @ right
