"""Refuse torch's ready-made parts while a worker runs, no matter what name the student's code uses for them.

The text search (`forbidden`) finds the line; this module detects the actual use. In a worker, wrappers replace the
fused functions, and the constructors and methods of the ready-made modules. They check their caller: they work for
stand-ins, and raise `ReadyMade` for all other code. Stand-ins are protected in the same way: a stage's code may call a
different stage's stand-in only if it needs to (`calls` in the manifest).

The student's code runs in the same process, so it could undo this protection deliberately. But it cannot do so by
accident, or by using another name for the same object.
"""

import ctypes
import functools
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from types import CodeType, FrameType, FunctionType, SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch._ops import OpOverloadPacket
from torch.nn import functional as F

from autograder.forbidden.parts import plain
from autograder.worker.attention_for_standins import scaled_dot_product_attention
from autograder.worker.reflection import getframe, globals_of, variables

identity = id  # bound here, since student code can replace the built-in function
ALLOWED: set[str] = set()  # parts that the manifest allows in a stage, see `parts_of_stage`
# The code of stand-ins by id (a code object's names can be forged, its id cannot), and all names in its module.
TRUSTED: dict[int, tuple[CodeType, frozenset[str]]] = {}
MODULES: tuple[Any, ...] = (
    *(nn.MultiheadAttention, nn.Transformer, nn.TransformerEncoder, nn.TransformerDecoder),
    *(nn.TransformerEncoderLayer, nn.TransformerDecoderLayer),
)
FUSED = re.compile(
    r"_?(fused_)?scaled_dot_product\w*attention\w*|_?(native_|triton_)?multi_head_attention\w*|_triton_scaled\w*"
    r"|_transformer_encoder_layer_fwd|_(flash|efficient|cudnn)_attention_forward\w*|_\w+_pointwise_?"
)
CALL = nn.Module._call_impl.__code__
OWN_FILES = (os.path.dirname(__file__), torch.__path__[0])  # skipped frames: calls pass through hooks and modes


WHY = "is a ready-made part, and this course has you write it yourself"


class ReadyMade(RuntimeError):
    """A ready-made part was used; the message is for the student."""


def trust(module: CodeType) -> None:
    """Allow the code of a stand-in, and all definitions in it, to use the ready-made parts that it names."""
    codes = [module]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    names = frozenset(plain(name) for code in codes for name in code.co_names)
    TRUSTED.update((identity(code), (code, names)) for code in codes)


def is_trusted(code: CodeType) -> bool:
    """Whether code belongs to a stand-in."""
    return identity(code) in TRUSTED


def methods(kind: type) -> Iterator[CodeType]:
    """Yield the code of a class's methods, except methods defined by torch."""
    for ancestor in kind.__mro__:
        for method in vars(ancestor).values() if not ancestor.__module__.startswith("torch.") else ():
            if isinstance(method, FunctionType):
                yield method.__code__


def forbid() -> None:
    """Replace the ready-made parts of torch in this process."""
    functions = torch._C._VariableFunctions  # cannot be changed, so a copy takes its place
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(functions))  # torch has a pointer to it, and no reference
    copied = SimpleNamespace(**{name: getattr(functions, name) for name in dir(functions) if name[:2] != "__"})
    torch._C._VariableFunctions = torch._VF.vf = copied  # type: ignore[assignment, attr-defined]
    vars(torch._C).pop("_VariableFunctionsClass", None)
    places = {"F": F, "torch": torch, "torch._C._nn": torch._C._nn, "torch._C._VariableFunctions": copied}
    for title, place in places.items():
        for name in filter(FUSED.fullmatch, dir(place)):
            own = name == scaled_dot_product_attention.__name__
            function = scaled_dot_product_attention if own else getattr(place, name)
            setattr(place, name, refusing(function, f"{title}.{name}"))
    for kind in MODULES:
        for name, function in list(vars(kind).items()):
            if isinstance(function, FunctionType):
                setattr(kind, name, refusing(function, f"nn.{kind.__name__}", method=True))


def keep_private(namespace: dict[str, Any]) -> None:
    """Make the private functions and methods of a stand-in work for stand-ins only."""
    module = namespace["__name__"]
    kinds = [value for value in namespace.values() if isinstance(value, type) and value.__module__ == module]
    for owner, names in ((None, namespace), *((kind, vars(kind)) for kind in kinds)):
        for name, function in list(names.items()):
            if not (isinstance(function, FunctionType) and re.match("_(?!_)", name) and function.__module__ == module):
                continue
            if owner is not None:
                setattr(owner, name, refusing(function, f"{module}.{name}"))
            else:
                namespace[name] = refusing(function, f"{module}.{name}")


def refusing(function: Callable[..., Any], name: str, title: str = "", method: bool = False) -> Callable[..., Any]:
    """Wrap a ready-made function so that it works for stand-ins only.

    Args:
        title: the name in messages.
        method: whether `name` is the name of a class, and the function one of its methods.
    """
    if isinstance(function, OpOverloadPacket):
        return _operator(function, name)
    called = name.rpartition(".")[2]
    short = plain(called)

    def refuse_or_call(*args: Any, **kwargs: Any) -> Any:
        if short not in ALLOWED and not _may_call(getframe(1), called, method):
            raise ReadyMade(f"{title or name} {WHY}")
        return function(*args, **kwargs)

    return like(refuse_or_call, function)


REFUSE_OR_CALL = next(code for code in refusing.__code__.co_consts if isinstance(code, CodeType))


def _may_call(frame: FrameType | None, called: str, method: bool) -> bool:
    """Whether a stand-in calls a part by its name, or torch calls it while running another permitted part.

    If the name differs, the student's code has substituted the part for the function that the stand-in or torch
    normally calls.
    """
    caller = None
    while frame is not None and frame.f_code.co_filename.startswith(OWN_FILES):
        if frame.f_code is REFUSE_OR_CALL and globals_of(frame) is globals():
            return True
        if caller is None and not frame.f_code.co_filename.startswith(OWN_FILES[0]):
            caller = frame.f_code
        frame = frame.f_back
    if frame is None or identity(frame.f_code) not in TRUSTED:
        return False
    of_torch = caller is not None
    named = called in (caller or frame.f_code).co_names
    return plain(called) in TRUSTED[identity(frame.f_code)][1] and (named or (method and of_torch))


def _operator(packet: OpOverloadPacket, name: str) -> Any:
    """Wrap an operator so that it works for stand-ins only; all its attributes remain available to torch."""

    class Operator:
        __call__ = staticmethod(refusing(packet.__call__, name))

        def __getattr__(self, attribute: str) -> Any:
            value = getattr(packet, attribute)
            of_torch = getframe(1).f_code.co_filename.startswith(OWN_FILES)
            return value if of_torch or not callable(value) else refusing(value, name)

    return Operator()


def like(wrapper: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a wrapper the name of the wrapped function; `functools.wraps` alone would keep a reference to it."""
    functools.update_wrapper(wrapper, function, updated=())
    del wrapper.__dict__["__wrapped__"]
    return wrapper


class Lock:
    """Whether the stand-ins of other stages are still locked in this process."""

    held = True


LOCK = Lock()


class Opened:
    """If `when` is true, let the stand-ins of other stages run inside the `with` block.

    A class of our own: student code can change the class behind `contextlib.contextmanager`.
    """

    def __init__(self, when: bool) -> None:
        self.when = when

    def __enter__(self) -> None:
        LOCK.held = not self.when

    def __exit__(self, *_: object) -> None:
        LOCK.held = True


def lock(namespace: Any, module: str, paths: Iterable[str], graded: Collection[tuple[str, str]]) -> None:
    """Make a stand-in's functions and methods raise errors while a graded function runs or LOCK is held.

    Args:
        namespace: the names of the stand-in.
        paths: the functions and methods to lock, as "function" or "Class.method".
        graded: the graded functions, each as (file, name) and as (file, full path): ("decoder.py", "forward"),
            ("decoder.py", "TransformerDecoderLayer.forward").
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
    """Whether a method of an object is graded, even if its function was renamed."""
    kinds = {(f"{kind.__module__}.py", f"{kind.__name__}.{method}") for kind in type(model).__mro__}
    return not kinds.isdisjoint(graded)


def _locked(function: FunctionType, title: str, graded: Collection[tuple[str, str]]) -> Callable[..., Any]:
    def refuse_or_call(*args: Any, **kwargs: Any) -> Any:
        frame: Any = getframe(1)
        refused = LOCK.held
        while frame is not None and not refused:
            code = frame.f_code
            refused = (code.co_filename, code.co_name) in graded
            refused = refused or (code is CALL and is_graded(variables(frame).get("self"), "forward", graded))
            frame = frame.f_back
        if refused:
            raise ReadyMade(f"{title} replaces code of another stage, and graded code must not use it")
        return function(*args, **kwargs)

    return like(refuse_or_call, function)
