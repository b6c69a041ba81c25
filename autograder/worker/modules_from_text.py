"""In a worker: import modules from source code in memory, with stand-ins for parts that are not being graded."""

import ast
import importlib.util
import linecache
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch

from autograder.forbidden.aliases import without_main_block
from autograder.sandbox.wire import STANDIN
from autograder.worker import ready_made_parts
from autograder.worker.available_libraries import with_own_import
from autograder.worker.reflection import closure_of, globals_of, new_function, run
from autograder.worker.shared_helpers import Lender
from autograder.worker.tracing.tracer import step


class Sources:
    """The modules of a `load` request, and which of their functions the stage grades."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.sources, self.own, self.replace = request["sources"], request["own"], request["replace"]
        self.lent, self.withheld = request["lent"], request["withheld"]
        self.locked = request["locked"]
        self.paths = {f"{module}.{path}" for module, path in request["graded"]}
        self.graded = {
            (f"{module}.py", name) for module, path in request["graded"] for name in (path, path.rpartition(".")[2])
        }
        self.standins: Mapping[str, CodeType] = {
            name: compiled(f"<stand-in {name}>", text) for name, text in self.sources.items() if name not in self.own
        }
        for code in self.standins.values():
            ready_made_parts.trust(code)

    def finder(self) -> Any:
        """Return what imports these modules, for `sys.meta_path`: student code that finds it can do no more with it."""

        def find_spec(fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
            if fullname not in self.sources:
                return None
            return importlib.util.spec_from_loader(fullname, loader, origin=f"{fullname}.py")

        def exec_module(module: ModuleType) -> None:
            name = module.__name__
            # Only the student's own modules get names that `describe` reports.
            if name in self.own:
                self.run_own(module, self.sources[name])
            else:
                self.run_standin(module, name)

        loader: Any = SimpleNamespace(create_module=lambda spec: None, exec_module=exec_module)
        return SimpleNamespace(find_spec=find_spec)

    def run_standin(self, module: ModuleType, name: str) -> None:
        """Run a stand-in; a module that lends the student's helpers gets only the stand-in's interface."""
        lending = name in self.lent or name in self.withheld
        namespace = {"__name__": name} if lending else module.__dict__
        run(self.standins[name], namespace)
        ready_made_parts.keep_private(namespace)
        self.lock(name, namespace)
        if lending:
            text = self.lent.get(name, "")
            lender = Lender(module, namespace, lambda: self.lend(name, text, lender), text, self.withheld.get(name, ""))

    def lock(self, name: str, namespace: dict[str, Any]) -> None:
        """Prevent graded functions from using the parts of a stand-in that belong to other stages."""
        module = name.removeprefix(STANDIN)
        if paths := self.locked.get(module):
            ready_made_parts.lock(namespace, module, paths, self.graded)

    def run_own(self, module: ModuleType, text: str) -> None:
        """Run the student's code as if it were a file in the working folder."""
        module.__file__ = f"{module.__name__}.py"
        module.__dict__["__builtins__"] = with_own_import(self.sources, step)
        run(compiled(module.__file__, text), module.__dict__)

    def lend(self, name: str, text: str, lender: Lender) -> ModuleType:
        """Return the student's module that a stand-in hides, with the stand-in's functions and methods inserted."""
        module = ModuleType(name)
        with torch.inference_mode(False), torch.enable_grad():  # as at import, whatever call requests the name
            self.run_own(module, text)
        put_in(module, SimpleNamespace(**lender.interface), self.replace.get(name, []))
        return module


def compiled(filename: str, text: str) -> CodeType:
    """Compile source code so that messages can show its lines."""
    if not filename.startswith("<"):  # the text of a stand-in is not for students
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
    cells = zip(method.__code__.co_freevars, closure_of(method) or (), strict=True)
    closure = tuple(CellType(owner) if name == "__class__" else cell for name, cell in cells)
    moved = new_function(method.__code__, globals_of(method), method.__name__, method.__defaults__, closure)
    moved.__kwdefaults__ = method.__kwdefaults__
    return moved
