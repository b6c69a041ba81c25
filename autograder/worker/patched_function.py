"""In a worker: one function of the student's runs with other code for a while."""

import importlib
import inspect
from types import CodeType, FunctionType
from typing import Any


class ChangedFunction:
    """At most one function is changed at a time; its objects and who calls it need not know."""

    def __init__(self) -> None:
        self._function: FunctionType | None = None
        self._code: CodeType | None = None

    def put(self, module: str, path: str, text: str) -> None:
        """Give a function the code of a text, in which it stands on its own lines; without a text only take back.

        Raises:
            LookupError: if there is no such function, in the module or in the text.
            SyntaxError, ValueError: if the text, or its code, cannot take this place.
        """
        self.back()
        if not text:
            return
        code: CodeType = compile(text, f"{module}.py", "exec", dont_inherit=True)
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            inside = [one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name]
            if name not in vars(found) or not inside:
                raise LookupError(path)
            found, code = vars(found)[name], inside[0]
        function = inspect.unwrap(getattr(found, "__func__", None) or getattr(found, "fget", None) or found)
        if type(function) is not FunctionType:
            raise LookupError(path)
        self._function, self._code = function, function.__code__
        function.__code__ = code

    def back(self) -> None:
        """Give the changed function, if there is one, its own code again."""
        if self._function is not None and self._code is not None:
            self._function.__code__ = self._code
        self._function = None
