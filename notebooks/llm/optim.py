"""Stage 4: the optimizers AdamW and Muon, and a schedule for the learning rate."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn


class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-8,
        weight_decay: float = 0.1,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient g. In step t of a parameter p, counted from 1:

            m = beta1 m + (1 - beta1) g             the mean of gradients; m and v start at 0
            v = beta2 v + (1 - beta2) g^2           the mean of squared gradients
            p = p - lr * weight_decay * p           the decay uses neither m nor v
            p = p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)

        Each group in `self.param_groups` has its own "lr", "betas", "eps" and "weight_decay", which may change between
        steps. Keep t, m and v in `self.state[p]`, so that `state_dict()` saves them. A parameter without a gradient is
        skipped: it does not move, and its t does not increase. Change parameters in place; gradients do not change.

        Args:
            closure: not used here; it is None.
        """
        raise NotImplementedError("Stage 4: AdamW.step is not written yet")


def orthogonalise(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """Bring the singular values of a matrix close to 1 without computing them (Newton-Schulz; Jordan and others, 2024).

    First, X = G / (norm of G + 1e-7), with the Frobenius norm (square root of the sum of squares). Then, `steps` times,

        A = X X^T,   X = a X + (b A + c A A) X   with a, b, c = 3.4445, -4.7750, 2.0315

    For a tall matrix (n > m) do this with G^T and transpose the result; this is cheaper.

    Args:
        G: (n, m).
        steps: the number of repetitions.

    Returns:
        (n, m). A matrix of zeros stays a matrix of zeros.
    """
    raise NotImplementedError("Stage 4: orthogonalise is not written yet")


class Muon(torch.optim.Optimizer):
    """Momentum with orthogonalised steps (Jordan and others, 2024); only for matrices of hidden layers."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        steps: int = 5,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "steps": steps})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Move every matrix p, (n, m), that has a gradient g:

            u = momentum * u + g                                 u starts at 0
            direction = orthogonalise(g + momentum * u)          Nesterov: the gradient counts once more
            p = p - lr * weight_decay * p
            p = p - lr * sqrt(max(1, n / m)) * direction

        As in `AdamW`: take the options from the group, keep u in `self.state[p]`, skip parameters without a gradient.

        Args:
            closure: not used here; it is None.
        """
        raise NotImplementedError("Stage 4: Muon.step is not written yet")


def split(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Divide the parameters of a model between two optimizers.

    Muon gets each parameter with two axes, except the weight of an `nn.Embedding`, wherever it is in the model and
    whatever it is called. A parameter that two modules share counts as an embedding if one of them is an embedding.

    Args:
        model: any model.

    Returns:
        The parameters for Muon, and all others for AdamW. Each parameter is in exactly one list, once, in any order.
    """
    raise NotImplementedError("Stage 4: split is not written yet")


def wsd(step: int, total: int, warmup: int, decay: int, floor: float = 0.0) -> float:
    """Warm up, stay, decay: a factor for the learning rate.

    In the first `warmup` steps it rises: (step + 1) / warmup, so that it is 1 in the last of them. In the last `decay`
    steps it falls: floor + (1 - floor) * (total - step) / decay, so that it is still 1 in the first of them. In between
    it is 1. From step `total` on, after training, it is `floor`. Warm-up and decay do not overlap.

    Args:
        step: the number of the step, counted from 0; it may be larger than `total`.
        total: the number of steps in the whole training.
        warmup, decay: the number of steps in which the factor rises and falls; 0 is allowed.
        floor: the smallest factor, reached at the end.

    Returns:
        The factor.
    """
    raise NotImplementedError("Stage 4: wsd is not written yet")
