"""In a worker: temporarily run one of the student's functions with different code."""

import importlib
import inspect
from types import CodeType, FunctionType
from typing import Any

from autograder.worker.reflection import set_code


class ChangedFunction:
    """Patches at most one function at a time; existing objects and the function's callers stay unchanged."""

    def __init__(self) -> None:
        self._function: FunctionType | None = None
        self._code: CodeType | None = None

    def put(self, module: str, path: str, text: str) -> None:
        """Replace a function's code with code compiled from `text`; if `text` is empty, only undo the last replacement.

        The function has the same line numbers in `text` as in the module.

        Raises:
            LookupError: if there is no such function, in the module or in `text`.
            SyntaxError, ValueError: if `text` cannot be compiled, or its code cannot replace the function's.
        """
        self.back()
        if not text:
            return
        code: CodeType = compile(text, f"{module}.py", "exec", dont_inherit=True)
        target: Any = importlib.import_module(module)
        for name in path.split("."):
            inside = [
                constant for constant in code.co_consts if isinstance(constant, CodeType) and constant.co_name == name
            ]
            if name not in vars(target) or not inside:
                raise LookupError(path)
            target, code = vars(target)[name], inside[0]
        function = inspect.unwrap(getattr(target, "__func__", None) or getattr(target, "fget", None) or target)
        if type(function) is not FunctionType:
            raise LookupError(path)
        self._function, self._code = function, function.__code__
        set_code(function, code)

    def back(self) -> None:
        """Restore the code of the patched function, if there is one."""
        if self._function is not None and self._code is not None:
            set_code(self._function, self._code)
        self._function = None
