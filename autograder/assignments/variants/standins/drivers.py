"""Test code that runs in the student's process, because optimizers, generators and gradients cannot be sent to it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import LayerNorm as OtherNorm  # only constructed: the text names no operator that has to stay


class Momentum(torch.optim.Optimizer):
    """An optimizer with torch's interface, whose steps depend on the size of the gradients."""

    def __init__(self, groups: list[list[nn.Parameter]], momentum: float = 0.5) -> None:
        # Optimizer's own constructor would import a compiler.
        self.defaults = {"lr": 1e3}
        self.param_groups: list[dict[str, Any]] = [{"params": group, **self.defaults} for group in groups]
        self.momentum = momentum
        self.state: Any = {}

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none or parameter.grad is None:
                    parameter.grad = None
                else:
                    parameter.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move the parameters against their gradients; if there is a closure, call it first and return its loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        every = [(one, group["lr"]) for group in self.param_groups for one in group["params"]]
        with torch.no_grad():  # as a decorator it would hide the call
            for parameter, rate in every:
                if parameter.grad is not None:
                    kept = self.state.get(parameter, torch.zeros_like(parameter))
                    self.state[parameter] = self.momentum * kept + parameter.grad
                    parameter -= rate * self.state[parameter]
        return loss


class Curve(nn.Module):
    """A small model whose loss is four times as large in training mode."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.unused = nn.Parameter(torch.zeros(3))  # gets no gradient

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The mean squared distance between tanh(W x + b) and y."""
        return (torch.tanh(self.linear(x)) - y).square().mean() * (4 if self.training else 1)


def train_steps(
    model: nn.Module, batches: list[torch.Tensor], rates: list[float], max_norm: float, evaluating: bool = False
) -> list[Any]:
    """Call `training.train_step` for each batch; return the losses and all final weights, sorted by name.

    The model is restored, so that repeating the call returns the same result.

    Args:
        batches: for each step, the arguments of the loss, stacked in one tensor.
        evaluating: switch to evaluation mode before each step, as after validation.
    """
    from training import train_step

    parameters = [parameter for _, parameter in sorted(model.named_parameters())]
    with torch._C.DisableTorchFunction():  # not part of the traced computation
        before, training = [parameter.detach().clone() for parameter in parameters], model.training
    optimizer: Any = Momentum([parameters[::2], parameters[1::2]])
    losses = []
    try:
        with torch.enable_grad():
            for batch, rate in zip(batches, rates, strict=True):
                if evaluating:
                    model.eval()
                losses.append(train_step(model, tuple(batch), optimizer, rate, max_norm))
        return [losses, *(parameter.detach().clone() for parameter in parameters)]
    finally:
        with torch._C.DisableTorchFunction(), torch.no_grad():
            model.train(training)
            for parameter, weights in zip(parameters, before, strict=True):
                parameter.copy_(weights)
                parameter.grad = None


def clip_gradients_of(gradients: list[torch.Tensor], max_norm: float, as_iterator: bool) -> list[Any]:
    """Call `training.clip_gradients`, including a parameter without a gradient; return the norm and the gradients."""
    from training import clip_gradients

    parameters = [nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    given = [parameters[0], nn.Parameter(torch.ones(2)), *parameters[1:]]
    norm = clip_gradients(iter(given) if as_iterator else given, max_norm)
    return [norm, *(parameter.grad for parameter in parameters)]


def smoothed_loss_and_gradient(
    logits: torch.Tensor, targets: torch.Tensor, padding_idx: int, smoothing: float
) -> list[torch.Tensor | None]:
    """Return `training.smoothed_loss` and its gradient with respect to the logits."""
    from training import smoothed_loss

    with torch.enable_grad():
        logits.requires_grad_()
        loss = smoothed_loss(logits, targets, padding_idx, smoothing)
        if loss.requires_grad:
            loss.backward()
    return [loss, logits.grad]


class Shared(nn.Module):
    """A model with nested modules and all kinds of parameters. Its embedding and its output layer share a weight, and
    either can come first."""

    def __init__(self, output_first: bool = False) -> None:
        super().__init__()
        from layers import LayerNorm

        if output_first:
            self.output = nn.Linear(4, 7)
        self.tokens = nn.Embedding(7, 4)
        self.output = nn.Linear(4, 7)
        self.output.weight = self.tokens.weight
        norms = {"norm": LayerNorm(4), "other": OtherNorm(4)}
        self.inner = nn.ModuleDict({**norms, "linear": nn.Linear(4, 4), "places": nn.Embedding(5, 4)})
        self.cls = nn.Parameter(torch.zeros(1, 1, 4))
        self.matrix = nn.Parameter(torch.zeros(4, 3))


def parameter_groups_of(model: nn.Module, weight_decay: float) -> list[Any]:
    """Call `training.parameter_groups`; return each group's weight decay and the sorted names of its parameters."""
    from training import parameter_groups

    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = parameter_groups(model, weight_decay)
    found: list[Any] = []
    for group in groups:
        known = [names.get(id(parameter), "another tensor") for parameter in group["params"]]
        found.append([group["weight_decay"], sorted(known)])
    return found


def generate_with_seeds(
    model: Any,
    prompt: torch.Tensor,
    max_new_tokens: int,
    seeds: list[int],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> list[Any]:
    """Call `generate.generate` once for each seed, in order, with a newly seeded generator."""
    from generate import generate

    return [
        generate(model, prompt, max_new_tokens, torch.Generator().manual_seed(seed), temperature, top_k, top_p)
        for seed in seeds
    ]


def cache_after_forward_cached(model: Any, token: torch.Tensor, cache: list[list[torch.Tensor]]) -> list[Any]:
    """Return the cache that was passed to `generate.forward_cached`, as it is after the call."""
    from generate import forward_cached

    given = [(keys, values) for keys, values in cache]
    forward_cached(model, token, given)
    return [list(pair) for pair in given]


def logits_after_filter_logits(logits: torch.Tensor, temperature: float, top_k: int | None) -> torch.Tensor:
    """Return the logits that were passed to `generate.filter_logits`, in their state after the call."""
    from generate import filter_logits

    filter_logits(logits, temperature, top_k, 0.5)
    return logits


class Words(nn.Module):
    """An embedding and linear maps whose names do not reveal which is which."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.word_embedding_map = nn.Embedding(7, 4), nn.Linear(4, 6)
        self.norm, self.output = OtherNorm(6), nn.Linear(6, 7)


class Images(nn.Module):
    """Parameters like those of a Vision Transformer: <cls> and positions have three axes."""

    def __init__(self) -> None:
        super().__init__()
        self.projection, self.output_layer = nn.Linear(4, 6), nn.Linear(6, 3)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 6))
        self.positions = nn.Parameter(torch.zeros(1, 5, 6))
        self.norm = OtherNorm(6)


def parameter_shapes(model: nn.Module) -> list[Any]:
    """Names and shapes of all parameters; shared parameters are listed once."""
    return [[name, list(parameter.shape)] for name, parameter in model.named_parameters()]


def rms_norm_in_float16(weight: torch.Tensor, x: torch.Tensor, exact: bool = False) -> torch.Tensor:
    """The output of `modern.RMSNorm` with this weight in float16, converted to the dtype of x.

    Args:
        exact: compute in the dtype of x instead, from weight and x rounded to float16.
    """
    from modern import RMSNorm

    norm, half = RMSNorm(x.size(-1)), x.half()
    norm.load_state_dict({"weight": weight})
    return norm.half().to(x.dtype)(half.to(x.dtype)) if exact else norm.half()(half).to(x.dtype)


def rotate_in_bfloat16(x: torch.Tensor, positions: torch.Tensor, exact: bool = False) -> torch.Tensor:
    """The result of `modern.rotate` for x in bfloat16, converted to the dtype of x.

    Args:
        exact: compute in the dtype of x instead, from x rounded to bfloat16.
    """
    from modern import rotate

    half = x.bfloat16()
    return rotate(half.to(x.dtype), positions) if exact else rotate(half, positions).to(x.dtype)
