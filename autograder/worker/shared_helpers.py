"""Helpers that the student's files share: what a stand-in lacks is lent by the student's own module of its name.

A stand-in takes the place of a module that other stages grade. Its classes and functions are those of the interface,
and they hide the student's. Every other name (helpers, constants, further classes and methods) comes from the student's
text, which is run when the first such name is asked for. So a module that cannot be imported, or does harm when it is,
costs nothing in the stages that do not need its helpers.
"""

import ast
import functools
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

from torch import nn

from autograder.worker.exception_report import syntax_words


class Lender:
    """A stand-in's module together with the student's module behind it.

    Args:
        module: the empty module that the interface is put into.
        standin: the compiled stand-in.
        own: runs the student's text in a module of this name and gives it; it raises what the text raises.
        text: the student's text.
        withheld: why the text must not be run, if so.
    """

    def __init__(
        self, module: ModuleType, standin: CodeType, own: Callable[[], ModuleType], text: str, withheld: str
    ) -> None:
        self.name, self.own, self.text, self.why = module.__name__, own, text, withheld
        self.borrowed: ModuleType | None = None
        self.namespace: dict[str, Any] = {"__name__": module.__name__}
        # What the stand-in uses itself has no place in a module that students import from.
        self.interface: dict[str, Any] = {}
        exec(standin, self.namespace)
        for name, value in self.namespace.items():
            if getattr(value, "__module__", "") == self.name and not name.startswith("_"):
                self.interface[name] = value
                if inspect.isclass(value) and issubclass(value, nn.Module):
                    self.open(value)
        vars(module).update(self.interface)
        vars(module)["__getattr__"] = self.of_module

    def of_module(self, name: str) -> Any:
        """A name of the module that the stand-in lacks; Python calls this `__getattr__` of the module."""
        if name == "__all__":  # `from mha import *`
            theirs = vars(self.borrow(name))
            return theirs.get("__all__") or sorted({*theirs, *self.interface} - {n for n in theirs if n[0] == "_"})
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.borrow(name), name)

    def open(self, kind: Any) -> None:
        """Let objects of a class of the interface have the student's further methods and class attributes."""

        def of_object(model: nn.Module, name: str) -> Any:
            try:
                return nn.Module.__getattr__(model, name)
            except AttributeError:
                # Constructors ask for names that nobody has (`register_buffer`): no reason to run the text.
                if name.startswith("__") or name not in self.members:
                    raise
                theirs = getattr(self.borrow(name), kind.__name__, None)
                value = inspect.getattr_static(theirs, name, None)
                if value is None:
                    raise
            return value.__get__(model, type(model)) if hasattr(value, "__get__") else value

        kind.__getattr__ = of_object

    @functools.cached_property
    def members(self) -> frozenset[str]:
        """The names that classes of the student's text give their objects; none if the text is no Python."""
        try:
            return frozenset(members(ast.parse(self.text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return frozenset()

    def borrow(self, name: str) -> ModuleType:
        """The student's module, run now if it was not.

        Raises:
            ImportError: if it cannot be run; the message says so in one line.
        """
        if self.borrowed is None and not self.why:
            try:
                self.borrowed = self.own()
            except BaseException as error:  # sys.exit() included
                line = error.lineno if isinstance(error, SyntaxError) else None
                message = syntax_words(error) if isinstance(error, SyntaxError) else str(error).partition("\n")[0][:200]
                place = f", line {line}" if line else ""
                self.why = f"{self.name}.py cannot be imported ({type(error).__name__}: {message}{place})"
        if self.borrowed is None:
            raise ImportError(f"{self.why}, so its {name!r} is missing here") from None
        return self.borrowed


def members(tree: ast.Module) -> Iterator[str]:
    """The methods and attributes that classes define, in their bodies or from outside (`Layer.merge = ...`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for inner in ast.walk(node):
                if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    yield inner.name
                elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_class(node.value):
            yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
            yield from (one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))


def _is_class(node: ast.expr) -> bool:
    """Whether something is a name, and not that of the object in a method."""
    return isinstance(node, ast.Name) and node.id != "self"
