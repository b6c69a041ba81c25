"""Ready-made parts that no stand-in of a worker uses cannot be run in it, whatever leads to them.

`ready_made_parts` refuses by who calls, and that can be forged. Here the part itself is gone. Each fused operator gets
a kernel that refuses in torch's dispatcher, where all ways to call it end: names in Python, `torch.ops`, scripts, other
operators. Each ready-made function of Python gets code that refuses, so that no reference leads to the old code.

A worker does this before it takes any text of a student, and for good: the kernels that were there are not kept.
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

from autograder.worker.ready_made_parts import FUSED, MODULES, WHY, ReadyMade

# Under which a kernel for the processor may be registered, see c10/core/DispatchKey.h. An alias key holds for
# `decompose`, too.
KEYS = (
    *("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeImplicitAutogradNestedTensor"),
    *("CPU", "NestedTensorCPU", "QuantizedCPU", "MkldnnCPU", "SparseCPU"),
    *("AutogradCPU", "AutogradNestedTensor", "AutocastCPU"),
)
USED = re.compile(r"\bnn\.(\w+)\b(?!\.)")  # modules of torch that a stand-in names; compiled before the forks
FROM_STANDINS = re.compile(r"_?scaled_dot_product_\w*")  # operators that a stand-in's call of F ends in
REFUSING = "__ready_made__"  # a name beside the globals of torch's functions


def _operators() -> list[tuple[str, str]]:
    """The fused operators, "scaled_dot_product_attention", each with a key under which there is a kernel."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    fused = [name for name in names if FUSED.fullmatch(name.removeprefix("aten::").partition(".")[0])]
    return [(name.removeprefix("aten::"), key) for name in fused for key in KEYS if has(name, key)]


def _functions() -> dict[str, list[FunctionType]]:
    """What ready-made parts in Python run, by the name of the class or function."""
    found = {kind.__name__: _of_class(kind) for kind in MODULES}
    found["multi_head_attention_forward"] = [
        f for f in (F.multi_head_attention_forward,) if isinstance(f, FunctionType)
    ]
    for place in ("quantizable", "quantized"):  # with a forward of their own
        kind = getattr(getattr(getattr(torch.ao, "nn", None), place, None), "MultiheadAttention", None)
        found[f"{place}.MultiheadAttention"] = _of_class(kind) if kind else []
    return found


def _of_class(kind: type) -> list[FunctionType]:
    return [value for value in vars(kind).values() if isinstance(value, FunctionType)]


# Found out before `ready_made_parts.forbid` puts other functions in their place.
OPERATORS, FUNCTIONS = _operators(), _functions()
CODES: list[tuple[str, FunctionType, CodeType]] = []  # which code each of the functions gets when it is taken away


def prepare() -> None:
    """Take away what no stand-in of any stage ends in. Forks of this process have nothing left to do for it."""
    _take_kernels([one for one in OPERATORS if not FROM_STANDINS.match(one[0])])
    for name, functions in FUNCTIONS.items():
        for function in functions:
            function.__globals__[REFUSING] = refuse  # a new name would have each fork copy the whole table
            CODES.append((name, function, refusing(name, function)))


def disable(standins: Iterable[str]) -> None:
    """Make all ready-made parts useless but those that one of these texts uses."""
    if not CODES:
        prepare()
    text = "\n".join(standins)
    attends = "F.scaled_dot_product_attention" in text
    kinds = FUNCTIONS.keys() & set(USED.findall(text))
    kinds |= {"MultiheadAttention"} if kinds else set()  # which the layers hold
    _take_kernels([] if attends else [one for one in OPERATORS if FROM_STANDINS.match(one[0])])
    for name, function, code in CODES:
        if name not in kinds:
            function.__code__ = code


def _take_kernels(operators: Collection[tuple[str, str]]) -> None:
    if not operators:
        return
    library: Any = torch._C._dispatch_library("IMPL", "aten", "", __file__, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of an overridden kernel
        for name, key in operators:
            library.impl(name, key, functools.partial(refuse, name.partition(".")[0]), False)
    # With its end the old kernels would come back: it stays, and nothing leads to it.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))


def refuse(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Take the place of a ready-made part."""
    raise ReadyMade(f"{name} {WHY}")


def empty(name: str, function: FunctionType) -> None:
    """Let a function refuse from now on, whatever leads to it."""
    function.__globals__[REFUSING] = refuse
    function.__code__ = refusing(name, function)


def refusing(name: str, function: FunctionType) -> CodeType:
    """Code that refuses, to be put into a function: the cells of its closure stay with it, used or not."""
    return _refusing(name).replace(co_freevars=function.__code__.co_freevars)


@functools.cache
def _refusing(name: str) -> CodeType:
    """Code of a function that refuses, in whatever module."""
    space: dict[str, Any] = {}
    exec(f"def refusing(*args, **kwargs):\n    {REFUSING}({'nn.' * hasattr(nn, name) + name!r})", space)
    code: CodeType = space["refusing"].__code__
    return code
