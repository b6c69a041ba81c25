"""Helpers that the student's files share: what a stand-in lacks is lent by the student's own module of its name.

A stand-in takes the place of a module that other stages grade. Its classes and functions are those of the interface,
and they hide the student's. Every other name (helpers, constants, further classes and methods) comes from the student's
text, which is run when the first such name is asked for. So a module that cannot be imported, or does harm when it is,
costs nothing in the stages that do not need its helpers.
"""

import inspect
import re
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from torch import nn

from autograder.sandbox.told_errors import syntax_words


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
                if name.startswith("__") or not re.search(rf"\b{name}\b", self.text):
                    raise
                theirs = getattr(self.borrow(name), kind.__name__, None)
                value = inspect.getattr_static(theirs, name, None)
                if value is None:
                    raise
            return value.__get__(model, type(model)) if hasattr(value, "__get__") else value

        kind.__getattr__ = of_object

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
