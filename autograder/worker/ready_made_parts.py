"""Ready-made parts of torch are refused while a worker runs, whatever name the student's code has for them.

A search of the text (`forbidden`) finds the line; this finds the use. In a worker, the fused functions and the
constructors and methods of the ready-made modules are replaced by ones that look at who calls them: they work for
stand-ins, and raise `ReadyMade` for everybody else. The same holds for what a stand-in answers itself: code of a stage
may not call the stand-in of another stage unless it needs it (`calls` in the manifest).

The student's code lives in the same process and can undo this, as it can undo anything there; but not by chance, nor by
another name for the same thing.
"""

import contextlib
import functools
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import nn
from torch._ops import OpOverloadPacket
from torch.nn import functional as F

from autograder.forbidden.parts import plain

ALLOWED: set[str] = set()  # what the manifest lets a stage use, see `parts_of_stage`
INSIDE: list[str] = []  # calls of such parts that are running
TRUSTED: dict[int, CodeType] = {}  # the code of stand-ins; a code object's names can be forged, its place cannot
MODULES: tuple[Any, ...] = (
    *(nn.MultiheadAttention, nn.Transformer, nn.TransformerEncoder, nn.TransformerDecoder),
    *(nn.TransformerEncoderLayer, nn.TransformerDecoderLayer),
)
FUSED = re.compile(
    r"_?(fused_)?scaled_dot_product\w*attention\w*|_?(native_|triton_)?multi_head_attention\w*|_triton_scaled\w*"
    r"|_transformer_encoder_layer_fwd|_(flash|efficient|cudnn)_attention_forward\w*"
)
OPERATORS = ("scaled_dot_product_attention", "_scaled_dot_product_attention_math")
CALL = nn.Module._call_impl.__code__
OWN_FILES = (os.path.dirname(__file__), torch.__path__[0])  # through which calls pass, with hooks and modes


WHY = "is a ready-made part, and this course has you write it yourself"


class ReadyMade(RuntimeError):
    """A ready-made part was used; the message is for the student."""


def trust(code: CodeType) -> None:
    """Let this code, of a stand-in, and all that is defined in it use ready-made parts."""
    TRUSTED[id(code)] = code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            trust(inner)


def is_trusted(code: CodeType) -> bool:
    """Whether code is a stand-in's."""
    return id(code) in TRUSTED


def methods(kind: type) -> Iterator[CodeType]:
    """The code of the methods of a class, without those of torch."""
    for one in kind.__mro__:
        for method in vars(one).values() if not one.__module__.startswith("torch.") else ():
            if isinstance(method, FunctionType):
                yield method.__code__


def forbid() -> None:
    """Replace the ready-made parts of torch in this process."""
    for place, title in ((F, "F"), (torch, "torch"), (torch._C._nn, "torch._C._nn"), (torch._VF, "torch._VF")):
        for name in filter(FUSED.fullmatch, dir(place)):
            setattr(place, name, refusing(getattr(place, name), f"{title}.{name}"))
    for name in OPERATORS:
        setattr(torch.ops.aten, name, refusing(getattr(torch.ops.aten, name), f"torch.ops.aten.{name}"))
    for kind in MODULES:
        for name, function in list(vars(kind).items()):
            if isinstance(function, FunctionType):
                setattr(kind, name, refusing(function, f"nn.{kind.__name__}"))


def refusing(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A ready-made function that works for stand-ins only."""
    if isinstance(function, OpOverloadPacket):
        return _operator(function, name)
    short = plain(name.rpartition(".")[2])

    def refuse_or_call(*args: Any, **kwargs: Any) -> Any:
        if ALLOWED and (INSIDE or short in ALLOWED):
            INSIDE.append(name)
            try:
                return function(*args, **kwargs)
            finally:
                INSIDE.pop()
        frame = sys._getframe(1)
        while frame.f_code.co_filename.startswith(OWN_FILES) and frame.f_back:
            frame = frame.f_back
        if id(frame.f_code) not in TRUSTED:
            raise ReadyMade(f"{name} {WHY}")
        return function(*args, **kwargs)

    return like(refuse_or_call, function)


def _operator(packet: OpOverloadPacket, name: str) -> Any:
    """An operator that works for stand-ins only; torch itself finds all that belongs to it, as when it is imported."""

    class Operator:
        __call__ = staticmethod(refusing(packet.__call__, name))

        def __getattr__(self, attribute: str) -> Any:
            value = getattr(packet, attribute)
            of_torch = sys._getframe(1).f_code.co_filename.startswith(OWN_FILES)
            return value if of_torch or not callable(value) else refusing(value, name)

    return Operator()


def like(wrapper: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper with the name of what it wraps; `functools.wraps` alone would lead back to that."""
    functools.update_wrapper(wrapper, function, updated=())
    del wrapper.__dict__["__wrapped__"]
    return wrapper


class Lock:
    """Whether the stand-ins of other stages are locked, in all of this process: as long as nobody opens it."""

    held = True


LOCK = Lock()


@contextlib.contextmanager
def opened(when: bool) -> Iterator[None]:
    """A block in which the stand-ins of other stages may run, if that is so; not what computes after it."""
    LOCK.held = not when
    try:
        yield
    finally:
        LOCK.held = True


def lock(namespace: Any, module: str, paths: Iterable[str], graded: Collection[tuple[str, str]]) -> None:
    """Let functions and methods of a stand-in raise while a graded function runs, and whenever LOCK is held.

    Args:
        namespace: the names of the stand-in.
        paths: "function" or "Class.method" of it.
        graded: the file of the functions that the stage grades, with their names and whole paths: ("decoder.py",
            "forward"), ("decoder.py", "TransformerDecoderLayer.forward").
    """
    for path in paths:
        class_name, _, name = path.rpartition(".")
        owner = namespace.get(class_name) if class_name else None
        function = vars(owner).get(name) if owner is not None else namespace.get(name)
        if not isinstance(function, FunctionType):
            continue
        locked = _locked(function, f"{module}.{path}", graded)
        if owner is not None:
            setattr(owner, name, locked)
        else:
            namespace[name] = locked


def is_graded(model: Any, method: str, graded: Collection[tuple[str, str]]) -> bool:
    """Whether a method of an object is a graded one, whatever the name of its function is by now."""
    kinds = {(f"{kind.__module__}.py", f"{kind.__name__}.{method}") for kind in type(model).__mro__}
    return not kinds.isdisjoint(graded)


def _locked(function: FunctionType, title: str, graded: Collection[tuple[str, str]]) -> Callable[..., Any]:
    def refuse_or_call(*args: Any, **kwargs: Any) -> Any:
        frame: Any = sys._getframe(1)
        refused = LOCK.held
        while frame is not None and not refused:
            code = frame.f_code
            refused = (code.co_filename, code.co_name) in graded
            refused = refused or (code is CALL and is_graded(frame.f_locals.get("self"), "forward", graded))
            frame = frame.f_back
        if refused:
            raise ReadyMade(f"{title} takes the place of another stage, and what is graded is to do without it")
        return function(*args, **kwargs)

    return like(refuse_or_call, function)
