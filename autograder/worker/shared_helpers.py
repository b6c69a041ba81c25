"""Helpers shared by the student's files: names that a stand-in lacks come from the student's own module.

A stand-in replaces a module that other stages grade. Its classes and functions are those of the interface, and they
hide the student's versions. Every other name (helpers, constants, further classes and methods) comes from the student's
code, which is run when the first such name is requested. So a module that cannot be imported, or that causes damage
when imported, costs no points in the stages that do not need its helpers.
"""

import ast
import functools
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from torch import nn

from autograder.worker.exception_report import syntax_words


class Lender:
    """A stand-in's module, which takes missing names from the student's module.

    Args:
        module: the empty module to fill with the interface.
        namespace: the names of the stand-in.
        run: runs the student's code in a module of this name and returns the module; it passes on exceptions.
        text: the student's code.
        withheld: why the code must not be run; "" if it may.
    """

    def __init__(
        self,
        module: ModuleType,
        namespace: dict[str, Any],
        run: Callable[[], ModuleType],
        text: str,
        withheld: str,
    ) -> None:
        self.name, self.run, self.text, self.why = module.__name__, run, text, withheld
        self.borrowed: ModuleType | None = None
        # The stand-in's own imports do not belong in a module that students import from.
        self.interface: dict[str, Any] = {}
        for name, value in namespace.items():
            if getattr(value, "__module__", "") == self.name and not name.startswith("_"):
                self.interface[name] = value
                if inspect.isclass(value) and issubclass(value, nn.Module):
                    self.open(value)
        vars(module).update(self.interface)
        vars(module)["__getattr__"] = self.of_module

    def of_module(self, name: str) -> Any:
        """Return a name of the module that the stand-in lacks; Python calls this as the module's `__getattr__`."""
        if name == "__all__":  # `from mha import *`
            theirs = vars(self.borrow(name))
            return theirs.get("__all__") or sorted(
                {*theirs, *self.interface} - {other for other in theirs if other[0] == "_"}
            )
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.borrow(name), name)

    def open(self, kind: Any) -> None:
        """Give objects of an interface class the student's additional methods and class attributes."""

        def of_object(model: nn.Module, name: str) -> Any:
            try:
                return nn.Module.__getattr__(model, name)
            except AttributeError:
                # Constructors look up undefined names (in `register_buffer`), which is no reason to run the code.
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
        """The attribute names defined by classes in the student's code; empty if the code is not valid Python."""
        try:
            return frozenset(members(ast.parse(self.text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return frozenset()

    def borrow(self, name: str) -> ModuleType:
        """Return the student's module; run it first if needed.

        Raises:
            ImportError: if it cannot be run; the message gives the reason in one line.
        """
        if self.borrowed is None and not self.why:
            try:
                self.borrowed = self.run()
            except BaseException as error:  # including sys.exit()
                line = error.lineno if isinstance(error, SyntaxError) else None
                message = syntax_words(error) if isinstance(error, SyntaxError) else str(error).partition("\n")[0][:200]
                place = f", line {line}" if line else ""
                self.why = f"{self.name}.py cannot be imported ({type(error).__name__}: {message}{place})"
        if self.borrowed is None:
            raise ImportError(f"{self.why}, so its {name!r} is missing here") from None
        return self.borrowed


def members(tree: ast.Module) -> Iterator[str]:
    """Yield the methods and attributes of classes, defined inside or outside the class body (`Layer.merge = ...`)."""
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
            yield from (
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            )


def _is_class(node: ast.expr) -> bool:
    """Whether an expression is a name other than `self`."""
    return isinstance(node, ast.Name) and node.id != "self"
