"""Disable the ready-made parts that no stand-in in a worker uses, no matter how they are accessed.

`ready_made_parts` checks the caller, which can be forged. This module removes the parts themselves. All calls go
through torch's dispatcher, whether from Python names, `torch.ops`, scripts or other operators. There, the kernel of
each fused operator is replaced by a kernel that raises an error. The code of each ready-made Python function is
replaced by code that raises an error, so every reference to the function is affected. A worker does this before it
receives any student code. The change is permanent: the old kernels are not kept.
"""

import ctypes
import functools
import re
import warnings
from collections.abc import Collection, Iterable
from types import CodeType, FunctionType
from typing import Any, NoReturn

import torch
from torch import nn
from torch.nn import functional as F

from autograder.forbidden.parts import named, part, plain
from autograder.worker.attention_for_standins import scaled_dot_product_attention
from autograder.worker.ready_made_parts import FUSED, MODULES, WHY, ReadyMade

USED = re.compile(r"\b(?:F|nn)\.(\w+)\b(?!\.)")  # ready-made parts used in a stand-in; compiled before the forks
OF_TORCH = re.compile(r"\b(?:F|nn|torch)\.(\w+)")  # what a stand-in's code takes from torch
REFUSING = "__ready_made__"  # a name added to the globals of torch's functions


def _operators() -> list[tuple[str, str]]:
    """Return the fused operators, such as "scaled_dot_product_attention", with the dispatch keys of their kernels.

    The kernels under all keys must be replaced: `torch.vmap` has its own keys, and its kernels would call the remaining
    kernels.
    """
    return [operator for name in ATEN if FUSED.fullmatch(name.partition(".")[0]) for operator in _kernels(name)]


def _kernels(name: str) -> list[tuple[str, str]]:
    """Return (operator, dispatch key) pairs, one for each key under which the operator has a kernel."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return [(name, key) for key in KEYS if has(f"aten::{name}", key)]


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


ATEN = [name[6:] for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
KEYS = [key for key in torch._C.DispatchKey.__members__ if _is_key(key)]
# Collected before `ready_made_parts.forbid` replaces these functions.
OPERATORS, FUNCTIONS = _operators(), _functions()
CODES: list[tuple[str, FunctionType, CodeType]] = []  # name, function, and the code that replaces the function's


def prepare() -> None:
    """Disable the fused operators, which no stand-in needs, and prepare the rest, so that forks have less to do."""
    _take_kernels(OPERATORS)
    for name, functions in FUNCTIONS.items():
        for function in functions:
            function.__globals__[REFUSING] = refuse  # a new name would make each fork copy the whole table
            CODES.append((name, function, refusing(name, function)))


def disable(standins: Iterable[str]) -> None:
    """Disable all ready-made parts written in Python except those used in one of these stand-ins."""
    if not CODES:
        prepare()
    kinds = FUNCTIONS.keys() & set(USED.findall("\n".join(standins)))
    kinds |= {"MultiheadAttention"} if any(kind.startswith("Transformer") for kind in kinds) else set()
    for name, function, code in CODES:
        if name not in kinds:
            function.__code__ = code


def disable_parts(forbids: Iterable[str], standins: Iterable[str]) -> None:
    """Disable the operators of the parts that a stage forbids, except parts named in a stand-in."""
    words = words_of(standins)
    parts = [written for written in forbids if not part(written).argument and part(written).name not in words]
    names = [name for name in ATEN if parts and named(name.partition(".")[0], parts)]
    _take_kernels([operator for name in names for operator in _kernels(name)])


def words_of(standins: Iterable[str]) -> set[str]:
    """What these stand-ins take from torch, in the form in which names are compared."""
    return {plain(word) for text in standins for word in set(OF_TORCH.findall(text))}


def _take_kernels(operators: Collection[tuple[str, str]]) -> None:
    if not operators:
        return
    library: Any = torch._C._dispatch_library("IMPL", "aten", "", __file__, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about overridden kernels
        for name, key in operators:
            library.impl(name, key, functools.partial(refuse, name.partition(".")[0]), False)
    # If the library were freed, the old kernels would return. So it is kept alive, without a reference to it.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))


def refuse(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """The replacement for a ready-made part: it raises an error."""
    raise ReadyMade(f"{name} {WHY}")


def empty(name: str, function: FunctionType) -> None:
    """Make all further calls to a function raise an error, no matter how it is accessed."""
    function.__globals__[REFUSING] = refuse
    function.__code__ = refusing(name, function)


def refusing(name: str, function: FunctionType) -> CodeType:
    """Return code that raises an error, for insertion into a function; it keeps the function's closure variables."""
    return _refusing(name).replace(co_freevars=function.__code__.co_freevars)


@functools.cache
def _refusing(name: str) -> CodeType:
    """Return the code of a function that raises an error; it works in any module."""
    space: dict[str, Any] = {}
    exec(f"def refusing(*args, **kwargs):\n    {REFUSING}({'nn.' * hasattr(nn, name) + name!r})", space)
    code: CodeType = space["refusing"].__code__
    return code
