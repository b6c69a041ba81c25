"""Restrict student code to an allowlist of torch's modules, and hide the grader's own modules.

Much of torch is written in Python, and some of it computes attention: the parts that translate, trace or quantize
models. Such modules are loaded together with torch, or when an optimizer is used. A list of forbidden modules would
never be complete, so `allowed_torch_modules` lists the allowed ones. In a worker, all other modules of torch are
hidden: they are neither in `sys.modules` nor attributes of their packages, and importing them fails. Only torch's own
code can still use them, because some of its functions import modules when they are called. The grader's modules are
hidden in the same way: one of them contains the parts that the stage allows.

Functions in hidden modules that look like attention are also made to raise errors, so that other references to them are
useless.
"""

import builtins
import functools
import importlib
import importlib.abc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch._library.custom_ops import CustomOpDef

import autograder
import course
from autograder.worker import disable_builtins, reflection
from autograder.worker.allowed_torch_modules import KEPT

NAMES = frozenset(word for word in KEPT if not word.endswith(".*"))
PACKAGES = frozenset(word.removesuffix(".*") for word in KEPT if word.endswith(".*"))
GRADER = __name__.partition(".")[0]
FOLDER = torch.__path__[0] + os.sep
OWN_FOLDERS = tuple(f"{path}{os.sep}" for module in (autograder, course) for path in module.__path__)
ATTENDS = re.compile(r"att(entio)?n|sdpa")
WHY = "is a part of torch that graded code cannot use"

names_of = vars(ModuleType)["__dict__"].__get__  # reads a module's namespace, even if its class overrides `__dict__`

HIDDEN: dict[str, ModuleType] = {}
FUNCTIONS: dict[str, list[FunctionType]] = {}  # the functions in hidden modules of torch, by the letters of their names
LAZY = frozenset(f"torch.{name}" for name in getattr(torch, "_lazy_modules", ()))  # loaded on first access
_showing = 0  # number of running imports for which hidden modules are visible


@functools.cache
def is_kept(name: str) -> bool:
    """Whether student code may use a module; modules outside torch and the grader are not restricted here."""
    if _is_of_grader(name):
        return False
    if name.partition(".")[0] != "torch" or name in NAMES:
        return True
    while name:
        if name in PACKAGES:
            return True
        name = name.rpartition(".")[0]
    return False


def _is_of_grader(name: str) -> bool:
    return name.partition(".")[0] == GRADER


def hide() -> None:
    """Hide all loaded modules of torch that are not allowed."""
    _put_hooks()
    # Remove all names first: student code may have put any object under a name, and the loop below may fail on it.
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if type(name) is str and _goes(name)}
    for name, module in hidden.items():
        if not issubclass(type(module), ModuleType):
            continue  # put there by student code
        if name not in HIDDEN:
            HIDDEN[name] = module
            if not _is_of_grader(name):
                _empty(module)
        if _is_of_grader(name):
            continue
        parent, _, child = name.rpartition(".")
        package = HIDDEN[parent] if parent in HIDDEN else sys.modules.get(parent)
        if package is not None and issubclass(type(package), ModuleType) and names_of(package).get(child) is module:
            delattr(package, child)
            _serve(package, parent)


def _goes(name: str) -> bool:
    """Whether to hide a module. A module is kept during its import, which ends with a look-up in `sys.modules`."""
    if is_kept(name):
        return False
    module = sys.modules[name]
    spec = names_of(module).get("__spec__") if issubclass(type(module), ModuleType) else None
    return not (type(spec) is ModuleSpec and getattr(spec, "_initializing", False))


@contextmanager
def shown() -> Iterator[None]:
    """Make hidden modules visible again inside the block, for imports."""
    global _showing
    _showing += 1
    if _showing == 1:
        graders = not reflection.is_closed()  # student code may run during an import
        sys.modules.update({name: module for name, module in HIDDEN.items() if graders or not _is_of_grader(name)})
    try:
        yield
    finally:
        _showing -= 1
        if _showing == 0:
            hide()


def _from_grader(depth: int) -> bool:
    """Whether a frame's code is in a file of the grader or of the course, and no student code has run yet."""
    return not reflection.is_closed() and reflection.getframe(depth + 1).f_code.co_filename.startswith(OWN_FOLDERS)


def _from_torch(depth: int) -> bool:
    """Whether a frame's code is in one of torch's files; `depth` is counted from the caller of this function."""
    return reflection.getframe(depth + 1).f_code.co_filename.startswith(FOLDER)


def _serve(package: ModuleType, name: str) -> None:
    """Let torch itself still access the hidden modules of a package as attributes."""
    before = vars(package).get("__getattr__")
    if hasattr(before, "serves_torch"):
        return

    def __getattr__(attribute: str) -> Any:
        path = f"{name}.{attribute}"
        if path in HIDDEN or path in LAZY:
            if not _from_torch(1):
                raise AttributeError(f"{path} {WHY}")
            if path in HIDDEN:
                return HIDDEN[path]
        if before is not None:
            return before(attribute)
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}")

    setattr(__getattr__, "serves_torch", True)  # noqa: B010
    vars(package)["__getattr__"] = __getattr__


class Refusing(importlib.abc.MetaPathFinder):
    """Refuses to import modules of torch that are not allowed, even if they are already loaded."""

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> None:
        if not _showing and not is_kept(fullname):
            why = "is a part of the grader" if _is_of_grader(fullname) else WHY
            raise ModuleNotFoundError(f"{fullname} {why}", name=fullname)


@functools.cache
def _put_hooks() -> None:
    """Let imports in torch's own files find hidden modules, but make all other imports of these modules fail."""
    import_ = builtins.__import__
    import_module = importlib.import_module

    def __import__(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        absent = not level and name not in sys.modules
        of_torch = (level or (absent and name.startswith("torch."))) and _from_torch(1)
        if of_torch or (absent and _is_of_grader(name) and _from_grader(1)):
            # Most of these imports request names from a loaded module. Showing all modules would take milliseconds.
            if not level and name in HIDDEN and fromlist and all(word in vars(HIDDEN[name]) for word in fromlist):
                return HIDDEN[name]
            with shown():
                return import_(name, globals, locals, fromlist, level)
        return import_(name, globals, locals, fromlist, level)

    def import_module_(name: str, package: str | None = None) -> ModuleType:
        if _from_grader(1) if _is_of_grader(name) else _from_torch(1):
            with shown():
                return import_module(name, package)
        return import_module(name, package)

    builtins.__import__ = __import__
    setattr(importlib, "import_module", functools.update_wrapper(import_module_, import_module, updated=()))  # noqa: B010
    sys.meta_path.insert(0, Refusing())


def looks_like_attention(function: FunctionType) -> bool:
    """Whether a function has "attention" in its name, or takes queries, keys and values."""
    code, name = function.__code__, function.__qualname__.lower()
    if ATTENDS.search(name):
        return True
    count = code.co_argcount + code.co_kwonlyargcount
    names = {argument.lower() for argument in code.co_varnames[:count]} if count > 2 else set()
    return {"query", "key", "value"} <= names or {"q", "k", "v"} <= names


def functions_of(module: ModuleType) -> Iterator[FunctionType]:
    """Yield a module's functions, including decorated functions, methods, functions in dictionaries, and operators."""
    home = names_of(module).get("__name__")
    for value in list(names_of(module).values()):
        if issubclass(type(value), type):
            members = vars(value).values() if value.__module__ == home else ()
            inner = [getattr(member, "__func__", member) for member in members]
        elif type(value) is dict:
            inner = list(value.values())
        else:
            inner = [getattr(value, "_init_fn", value) if type(value) is CustomOpDef else value]
        for function in inner:
            while type(function) is FunctionType:
                if function.__module__ == home:
                    yield function
                function = function.__dict__.get("__wrapped__")


def _empty(module: ModuleType) -> None:
    """Make the functions of a hidden module that look like attention raise an error when called."""
    for function in functions_of(module):
        FUNCTIONS.setdefault(function.__name__.replace("_", "").lower(), []).append(function)
        if looks_like_attention(function):
            disable_builtins.empty(function.__qualname__, function)
