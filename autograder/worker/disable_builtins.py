"""Disable the ready-made parts that no stand-in in a worker uses, no matter how they are accessed.

`ready_made_parts` checks the caller, which can be forged. This module removes the parts themselves. All calls go
through torch's dispatcher, whether from Python names, `torch.ops`, scripts or other operators. There, the kernel of
each fused operator is replaced by a kernel that raises an error. The code of each ready-made Python function is
replaced by code that raises an error, so every reference to the function is affected. A worker does this before it
receives any student code. The change is permanent: the old kernels are not kept.
"""

import contextlib
import ctypes
import functools
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any, NoReturn

import torch
from torch import nn
from torch.nn import functional as F

from autograder.forbidden.parts import named, part, plain
from autograder.worker.attention_for_standins import scaled_dot_product_attention
from autograder.worker.ready_made_parts import FUSED, MODULES, WHY, ReadyMade
from autograder.worker.reflection import changed_code, globals_of, run, set_code

USED = re.compile(r"\b(?:F|nn)\.(\w+)\b(?!\.)")  # ready-made parts used in a stand-in; compiled before the forks
OF_TORCH = re.compile(r"\b(?:F|nn|torch)\.(\w+)")  # what a stand-in's code takes from torch
REFUSING = "__ready_made__"  # a name added to the globals of torch's functions


def _operators() -> list[tuple[str, str]]:
    """Return the fused operators, such as "aten::scaled_dot_product_attention", with their kernels' dispatch keys.

    The kernels under all keys must be replaced: `torch.vmap` has its own keys, and its kernels would call the remaining
    kernels.
    """
    return [operator for name in NAMES if FUSED.fullmatch(_short(name)) for operator in _kernels(name)]


def _kernels(name: str) -> list[tuple[str, str]]:
    """Return (operator, dispatch key) pairs, one for each key under which the operator has a kernel."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return [(name, key) for key in KEYS if has(name, key)]


def _short(name: str) -> str:
    """The name of an operator without its namespace and overload."""
    return name.partition("::")[2].partition(".")[0]


def _is_key(key: str) -> bool:
    try:  # some names only mark the beginning or the end of a range
        torch._C._dispatch_has_kernel_for_dispatch_key("aten::add.Tensor", key)
    except RuntimeError:
        return False
    return True


def _functions() -> dict[str, list[FunctionType]]:
    """Return the Python functions of ready-made parts, keyed by the name of the class or function."""
    functions = {kind.__name__: _of_class(kind) for kind in MODULES}
    for function in (scaled_dot_product_attention, F.multi_head_attention_forward):
        functions[function.__name__] = [function] if isinstance(function, FunctionType) else []
    for place in ("quantizable", "quantized"):  # classes with their own forward method
        kind = getattr(getattr(getattr(torch.ao, "nn", None), place, None), "MultiheadAttention", None)
        functions[f"{place}.MultiheadAttention"] = _of_class(kind) if kind else []
    return functions


def _of_class(kind: type) -> list[FunctionType]:
    return [value for value in vars(kind).values() if isinstance(value, FunctionType)]


NAMES = torch._C._dispatch_get_all_op_names()  # such as "aten::add.Tensor"
KEYS = [key for key in torch._C.DispatchKey.__members__ if _is_key(key)]
# Collected before `ready_made_parts.forbid` replaces these functions.
OPERATORS, FUNCTIONS = _operators(), _functions()
CODES: list[tuple[str, FunctionType, CodeType]] = []  # name, function, and the code that replaces the function's


def prepare() -> None:
    """Disable the fused operators, which no stand-in needs, and prepare the rest, so that forks have less to do."""
    _take_kernels(OPERATORS)
    for name, functions in FUNCTIONS.items():
        for function in functions:
            globals_of(function)[REFUSING] = refuse  # a new name would make each fork copy the whole table
            CODES.append((name, function, refusing(name, function)))


def disable(standins: Iterable[str]) -> None:
    """Disable all ready-made parts written in Python except those used in one of these stand-ins."""
    if not CODES:
        prepare()
    kinds = FUNCTIONS.keys() & set(USED.findall("\n".join(standins)))
    kinds |= {"MultiheadAttention"} if any(kind.startswith("Transformer") for kind in kinds) else set()
    for name, function, code in CODES:
        if name not in kinds:
            set_code(function, code)


def disable_parts(forbids: Iterable[str], standins: Sequence[str]) -> None:
    """Disable the operators of the parts that a stage forbids, except parts named in a stand-in."""
    words = words_of(standins)
    parts = [written for written in forbids if not part(written).argument and part(written).name not in words]
    for written in map(part, forbids):
        if written in WITHOUT_ARGUMENT and not any(written.argument in text for text in standins):
            name, function = WITHOUT_ARGUMENT[written]
            _take_kernels(_kernels(name), function)
    names = [name for name in NAMES if parts and named(_short(name), parts)]
    _take_kernels([operator for name in names for operator in _kernels(name)])
    with contextlib.suppress(AttributeError):  # it is already gone
        del torch._C._DispatchModule.reset  # would put the old kernels back


def words_of(standins: Iterable[str]) -> set[str]:
    """What these stand-ins take from torch, in the form in which names are compared."""
    return {plain(word) for text in standins for word in set(OF_TORCH.findall(text))}


def cross_entropy(
    scores: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """`aten::cross_entropy_loss` without label smoothing (ATen/native/LossNLL.cpp).

    Args:
        scores: (B, C, ...) or (C,).
        target: the numbers of the classes, or a probability for each element of `scores`.
        weight: (C,), or None.
        reduction: 0 for none, 1 for mean, 2 for sum.
    """
    if label_smoothing:
        refuse("cross_entropy(label_smoothing=...)")
    dim = min(scores.dim() - 1, 1)
    surprise = -torch.log_softmax(scores, dim)  # the shape of `scores`
    if target.shape != scores.shape:
        nll_loss: Any = torch._C._nn.nll_loss_nd  # its stub is wrong about `reduction`
        return nll_loss(-surprise, target, weight, reduction, ignore_index)
    weighted = surprise * target
    if weight is not None:
        weighted = weighted * weight.view(-1, *[1] * (scores.dim() - 1 - dim))
    loss = weighted.sum(dim)  # (B, C, ...) -> (B, ...)
    if reduction == 0:
        return loss
    return loss.sum() / max(1, loss.numel()) if reduction == 1 else loss.sum()


# Operators without an argument that a manifest can forbid. The check of other arguments is only in `parts_of_stage`.
WITHOUT_ARGUMENT = {part("F.cross_entropy(label_smoothing)"): ("aten::cross_entropy_loss", cross_entropy)}


def _take_kernels(operators: Collection[tuple[str, str]], instead: Callable[..., Any] | None = None) -> None:
    """Replace kernels by functions that refuse to run, or by another function."""
    libraries: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about overridden kernels
        for name, key in operators:
            space = name.partition("::")[0]
            if space not in libraries:
                libraries[space] = torch._C._dispatch_library("IMPL", space, "", __file__, 1)
                # If a library were freed, the old kernels would return.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(libraries[space]))
            libraries[space].impl(
                name.partition("::")[2], key, instead or functools.partial(refuse, _short(name)), False
            )


def refuse(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """The replacement for a ready-made part: it raises an error."""
    raise ReadyMade(f"{name} {WHY}")


def empty(name: str, function: FunctionType) -> None:
    """Make all further calls to a function raise an error, no matter how it is accessed."""
    globals_of(function)[REFUSING] = refuse
    set_code(function, refusing(name, function))


def refusing(name: str, function: FunctionType) -> CodeType:
    """Return code that raises an error, for insertion into a function; it keeps the function's closure variables."""
    return changed_code(_refusing(name), co_freevars=function.__code__.co_freevars)


@functools.cache
def _refusing(name: str) -> CodeType:
    """Return the code of a function that raises an error; it works in any module."""
    space: dict[str, Any] = {}
    text = f"def refusing(*args, **kwargs):\n    {REFUSING}({'nn.' * hasattr(nn, name) + name!r})"
    run(compile(text, __file__, "exec"), space)
    code: CodeType = space["refusing"].__code__
    return code
