"""In a worker: import modules from source code in memory, with stand-ins for parts that are not being graded."""

import ast
import importlib
import importlib.abc
import importlib.util
import linecache
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from autograder.forbidden.aliases import without_main_block
from autograder.sandbox.wire import STANDIN
from autograder.worker.available_libraries import with_own_import

if TYPE_CHECKING:
    from autograder.worker.shared_helpers import Lender


class SourceFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from source code in memory."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.sources, self.own, self.replace = request["sources"], request["own"], request["replace"]
        self.lent, self.withheld = request["lent"], request["withheld"]
        self.locked = request["locked"]
        self.paths = {f"{module}.{path}" for module, path in request["graded"]}
        self.graded = {
            (f"{module}.py", name) for module, path in request["graded"] for name in (path, path.rpartition(".")[2])
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.sources:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=f"{fullname}.py")

    def exec_module(self, module: ModuleType) -> None:
        from autograder.worker import ready_made_parts

        name = module.__name__
        # Only the student's own modules get names that `describe` reports.
        if name in self.own:
            self.run_own(module, self.sources[name])
            return
        standin = compiled(f"<stand-in {name}>", self.sources[name])
        ready_made_parts.trust(standin)
        lending = name in self.lent or name in self.withheld
        namespace = {"__name__": name} if lending else module.__dict__
        exec(standin, namespace)
        ready_made_parts.keep_private(namespace)
        self.lock(name, namespace)
        if lending:
            from autograder.worker.shared_helpers import Lender

            text = self.lent.get(name, "")
            lender = Lender(module, namespace, lambda: self.lend(name, text, lender), text, self.withheld.get(name, ""))

    def lock(self, name: str, namespace: dict[str, Any]) -> None:
        """Prevent graded functions from using the parts of a stand-in that belong to other stages."""
        from autograder.worker import ready_made_parts

        module = name.removeprefix(STANDIN)
        if paths := self.locked.get(module):
            ready_made_parts.lock(namespace, module, paths, self.graded)

    def run_own(self, module: ModuleType, text: str) -> None:
        """Run the student's code as if it were a file in the working folder."""
        module.__file__ = f"{module.__name__}.py"
        module.__dict__["__builtins__"] = with_own_import(self.sources)
        exec(compiled(module.__file__, text), module.__dict__)

    def lend(self, name: str, text: str, lender: "Lender") -> ModuleType:
        """Return the student's module that a stand-in hides, with the stand-in's functions and methods inserted."""
        import torch

        module = ModuleType(name)
        with torch.inference_mode(False), torch.enable_grad():  # as at import, whatever call requests the name
            self.run_own(module, text)
        put_in(module, SimpleNamespace(**lender.interface), self.replace.get(name, []))
        return module


def compiled(filename: str, text: str) -> CodeType:
    """Compile source code so that messages can show its lines."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    tree: Any = without_main_block(ast.parse(text, filename), text) if "__main__" in text else text
    code: CodeType = compile(tree, filename, "exec", dont_inherit=True)
    return code


def put_in(module: Any, standins: Any, paths: list[str]) -> None:
    """Replace the student's functions and methods ("function" or "Class.method") with those of the stand-in."""
    for path in paths:
        class_name, _, name = path.rpartition(".")
        owner, standin = module, standins
        if class_name:
            owner, standin = getattr(module, class_name, None), getattr(standins, class_name)
        # Code without a stand-in (extra credit) is not called while other stages are graded.
        if owner is not None and name in vars(standin):
            setattr(owner, name, _at_home(vars(standin)[name], owner))


def _at_home(method: Any, owner: Any) -> Any:
    """Bind a method to a different class, so that its `super()` refers to that class."""
    if not isinstance(method, FunctionType) or "__class__" not in method.__code__.co_freevars:
        return method
    cells = zip(method.__code__.co_freevars, method.__closure__ or (), strict=True)
    closure = tuple(CellType(owner) if name == "__class__" else cell for name, cell in cells)
    moved = FunctionType(method.__code__, method.__globals__, method.__name__, method.__defaults__, closure)
    moved.__kwdefaults__ = method.__kwdefaults__
    return moved
