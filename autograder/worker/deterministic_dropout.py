"""Deterministic dropout: every element gets the likelier outcome, so that a test can see where dropout is applied.

If the probability p is below one half, every element is kept and multiplied by 1 / (1 - p); otherwise, every element is
dropped. This covers torch's own dropout under all its names, and dropout implemented with random numbers. Each draw
returns the middle of its distribution, or the likelier of two outcomes. So results are deterministic and tests need no
statistics. Other kinds of draws remain random. Comparing two calls reveals this; the test must then choose a
probability close to 0 or 1.
"""

import contextlib
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

# They drop related elements together, or replace them with values other than 0. All are wrong in the layers here.
OTHERS = {
    *("dropout1d", "dropout2d", "dropout3d", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"),
    *("feature_dropout_", "alpha_dropout_", "feature_alpha_dropout_"),
}


def dropped(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """Return the deterministic result of dropout; the arguments are those of `torch.nn.functional.dropout`."""
    factor = 1.0 if not training else 1 / (1 - p) if p < 0.5 else 0.0
    return input.mul_(factor) if inplace else input * factor


def likelier(input: torch.Tensor, p: float | None = None, **_: Any) -> torch.Tensor:
    """The likelier outcome for each probability; 1 if both are equally likely."""
    return (input if p is None else torch.full_like(input, p)).ge(0.5).to(input.dtype)


class WithoutChance(TorchFunctionMode):
    """While this mode is active, torch draws no random numbers for dropout."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = {name: value for name, value in (kwargs or {}).items() if name != "generator"}
        name = getattr(func, "__name__", "")
        if name in ("dropout", "dropout_", "native_dropout") and "train" in kwargs:
            kwargs["training"] = kwargs.pop("train")
        if name == "dropout":
            return dropped(*args, **kwargs)
        if name in OTHERS:
            training = kwargs.get("training", kwargs.get("train", args[2] if len(args) > 2 else True))
            input = args[0] if args else kwargs["input"]
            return input * 0 if training else input
        if name == "native_dropout":
            return dropped(*args, **kwargs), None
        if name == "dropout_":
            return args[0].copy_(dropped(*args, **kwargs))
        if name in ("rand", "rand_like"):
            return (torch.zeros if name == "rand" else torch.zeros_like)(*args, **kwargs) + 0.5
        if name == "uniform_":
            return args[0].fill_(_uniform(*args[1:], **kwargs))
        if name == "bernoulli":
            return likelier(*args, **kwargs)
        if name == "bernoulli_":
            p = next(iter((*args[1:], *kwargs.values())), 0.5)
            return args[0].copy_(p.ge(0.5)) if isinstance(p, torch.Tensor) else args[0].fill_(float(p >= 0.5))
        return func(*args, **kwargs)


def _full(value: float) -> Callable[..., Any]:
    def draw(size: Any = None, *sizes: int, **_: Any) -> Any:
        return value if size is None else np.full((size, *sizes) if sizes else size, value)

    return draw


def _uniform(a: float = 0.0, b: float = 1.0, size: Any = None, **names: float) -> Any:
    low, high = names.get("low", names.get("from", a)), names.get("high", names.get("to", b))
    return _full((low + high) / 2)(size)


def _binomial(n: int, p: float, size: Any = None) -> Any:
    return _full(n * (p >= 0.5))(size)


NUMPY: dict[str, Any] = {
    **dict.fromkeys(("rand", "random", "random_sample"), _full(0.5)),
    "uniform": _uniform,
    "binomial": _binomial,
}
NUMPY["default_rng"] = lambda *_, **__: SimpleNamespace(**NUMPY)
PYTHON: dict[str, Any] = {"random": lambda: 0.5, "uniform": _uniform}


@contextlib.contextmanager
def deterministic_dropout() -> Iterator[None]:
    """Make dropout deterministic inside the `with` block."""
    changed = [(np.random, NUMPY), (random, PYTHON)]
    before = [(module, name, getattr(module, name)) for module, names in changed for name in names]
    for module, names in changed:
        for name, value in names.items():
            setattr(module, name, value)
    try:
        with WithoutChance():
            yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
