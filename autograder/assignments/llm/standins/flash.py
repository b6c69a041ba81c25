"""Stand-in for flash.py: one step, computed from the logarithm of the old sum."""

import torch

State = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def online_softmax_step(
    m: torch.Tensor, total: torch.Tensor, acc: torch.Tensor, scores: torch.Tensor, v: torch.Tensor
) -> State:
    """Read one more tile of keys, treating all old keys as a single key with the old mean as its value."""
    mean = torch.where(total.unsqueeze(-1) > 0, acc / total.unsqueeze(-1), 0.0)
    everything = torch.cat([(m + torch.log(total)).unsqueeze(-1), scores], dim=-1)  # (..., Q, 1 + K)
    largest = torch.maximum(m, scores.amax(-1))
    lse = torch.logsumexp(everything, dim=-1)
    shares = torch.nan_to_num(torch.softmax(everything, dim=-1))
    out = shares[..., :1] * mean + shares[..., 1:] @ v
    sums = torch.where(torch.isinf(lse), 0.0, torch.exp(torch.where(torch.isinf(lse), 0.0, lse - largest)))
    return largest, sums, out * sums.unsqueeze(-1)
