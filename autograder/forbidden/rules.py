"""What graded modules must not use, and the search for it in the syntax tree. Nothing is imported or executed.

A finding is `forbidden` where it is clear, and for `review` by a person where honest code may look the same. The
search is not complete: Python has more ways to reach a name than any list.
"""

import ast
import gc
import json
import re
import sys
from collections.abc import Iterable, Set
from typing import Any

from autograder.forbidden.aliases import Names, children, fold, is_self, through_stars, without_main_block
from autograder.forbidden.findings import MAX_FINDINGS, Finding, needless, told_first
from autograder.forbidden.fingerprints import Bag, copies
from autograder.forbidden.lists import (
    BY_NAME,
    CALLS_BY_STRING,
    FORBIDDEN_IN,
    HARMLESS_IN,
    LEADING_ANYWHERE,
    LEADING_ATTRIBUTES,
    MASK,
    NAMESPACES,
    OF_TORCH,
    PARTS_OF_TORCH,
    READY,
    READY_LIBRARIES,
    READY_OR_OWN,
    RULES,
    TOLD_BY_FRAMES,
    UNUSUAL_IN_TORCH,
    USUAL,
    USUAL_DUNDERS,
)
from autograder.forbidden.search_budget import parsed

DEPTH = 50_000  # of the search, which is Python alone: more than a syntax tree that was made can need
LONGEST = 200  # characters of a name or of what is said, so that all that was found fits into an answer


def check_modules(
    sources: dict[str, str], known: dict[str, Bag] | None = None
) -> tuple[list[tuple[str, Finding]], list[tuple[str, str]]]:
    """Search modules that belong together.

    Args:
        known: the fingerprints of functions that nobody should hand in, by their names.

    Returns:
        What was found, with the name of the module, and each function that is nearly one of `known`, with the name of
        that. A module with a syntax error gives nothing, since it cannot be imported either. One that cannot be
        searched for another reason is a note, and the others are searched all the same.
    """
    trees, found = {}, []
    for module, text in sources.items():
        try:
            trees[module] = without_main_block(parsed(text), text)
        except SyntaxError:
            continue
        except (MemoryError, RecursionError, ValueError) as error:
            found.append((module, Finding(False, 1, "", f"cannot be searched: {type(error).__name__}")))
    sys.setrecursionlimit(DEPTH)
    scoped = {module: with_scopes(tree) for module, tree in trees.items()}
    names = {module: Names(node for node, _ in nodes) for module, nodes in scoped.items()}
    through_stars(names)
    own = {member for each in names.values() for member in each.members}
    for module, nodes in scoped.items():
        found += [(module, finding) for finding in Search(names[module], sources.keys(), own).run(nodes)]
    copied = [
        (f"{module}.{name}", title) for module, tree in trees.items() for name, title in copies(tree, known or {})
    ]
    return found, copied


def with_scopes(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    """All nodes but docstrings, each after the one that it is in, with the class and function around it."""
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    nodes: list[tuple[ast.AST, str]] = [(tree, "")]
    for node, scope in nodes:
        inside = scope
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if not scope:
                inside = node.name
            elif scope in classes and not isinstance(node, ast.ClassDef):
                inside = f"{scope}.{node.name}"
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            # Only a body runs when the function is called; decorators and defaults run with the module.
            nodes += [(child, inside if field == "body" else scope) for field, child in children(node)]
    return nodes


def answer(sources: dict[str, str], known: dict[str, Bag]) -> list[Any]:
    """What `check_modules` gives, as lists, for the process that asked."""
    gc.disable()  # syntax trees are many small objects, and the process ends soon
    findings, copied = check_modules(sources, known)
    copied = [(name[:LONGEST], title) for name, title in copied[:MAX_FINDINGS]]
    return [[[module, list(finding)] for module, finding in findings], [list(pair) for pair in copied]]


def main() -> None:
    """A process of its own for the search: the modules as JSON on stdin, the answer on stdout."""
    sys.stdout.write(json.dumps(answer(*json.load(sys.stdin))))


class Search:
    """The search in one module. `own` are names of functions and attributes that the student has defined anywhere."""

    def __init__(self, names: Names, modules: Set[str], own: Set[str]) -> None:
        self.names, self.modules, self.own = names, modules, own
        self.found: dict[tuple[int, str], Finding] = {}
        self.scope = ""
        self.done: set[int] = set()  # nodes that were looked at as a part of another one

    def run(self, nodes: Iterable[tuple[ast.AST, str]]) -> list[Finding]:
        rules = {kind: getattr(self, f"_{kind.__name__}") for kind in RULES}
        for node, self.scope in nodes:
            if rule := rules.get(type(node)):
                rule(node)
        return told_first(self.found.values())

    def ready(self, node: ast.AST, name: str, forbidden: bool = True) -> None:
        self.report(node, f"{name} is a ready-made part, and this course has you write it yourself", forbidden)

    def report(self, node: ast.AST, what: str, forbidden: bool = True) -> None:
        line = getattr(node, "lineno", 1)
        key = (line, what)
        self.found.setdefault(key, Finding(forbidden, line, self.scope[:LONGEST], what[:LONGEST]))

    def _foreign(self, origins: Iterable[str]) -> list[str]:
        """The origins that are neither the student's own nor of the modules of the assignment."""
        return [origin for origin in origins if origin and origin.split(".")[0] not in self.modules]

    # The rules, by the kind of node.

    def _Import(self, node: ast.Import) -> None:
        for name in node.names:
            self._module(node, name.name)

    def _ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            return self.report(node, "a relative import: modules are imported by their bare names", forbidden=False)
        module = node.module or ""
        self._module(node, module)
        for name in node.names:
            if name.name == "*":
                if module.split(".")[0] not in self.modules:
                    self.report(node, f"all names of {module} are imported", forbidden=False)
            else:
                self._member(node, module, name.name)
        return None

    def _module(self, node: ast.stmt, path: str) -> None:
        top, *rest = path.split(".")
        if top in READY_LIBRARIES:
            self.report(node, f"{top} has ready-made Transformers")
        elif top in LEADING_ANYWHERE or top.startswith("standin_"):
            self.report(node, f"{top} must not be imported")
        elif top not in USUAL and top not in self.modules:
            self.report(node, needless(top), forbidden=False)
        for length in range(1, len(rest) + 1):
            self._member(node, ".".join([top, *rest][:length]), rest[length - 1])

    def _member(self, node: ast.AST, module: str, name: str) -> None:
        """A name is taken from a module."""
        top, path = module.split(".")[0], f"{module}.{name}"
        if top == "torch":
            if name == MASK:
                self.report(node, f"{MASK} is taken from torch", forbidden=False)
            elif OF_TORCH.fullmatch(name) and not path.startswith("torch.backends."):
                self.ready(node, _short(path))
            elif path in PARTS_OF_TORCH:
                self.report(node, f"{path} leads to ready-made parts of torch")
            elif path in UNUSUAL_IN_TORCH or (name.startswith("_") and name not in USUAL_DUNDERS | {"__dict__"}):
                self.report(node, f"{_short(path)} is not a usual part of torch", forbidden=False)
        elif top in self.modules:
            if name.startswith("_"):
                self.report(node, f"{path} is private to {top}.py", forbidden=False)
            return
        harmless = HARMLESS_IN.get(top)
        if name in FORBIDDEN_IN.get(module.rpartition(".")[2], ()) or (harmless and name not in harmless):
            self.report(node, f"{path} leads to names by a detour")
        # The modules of others hold references to what they import: warnings.sys, dataclasses.builtins.
        if module != "" and name.lstrip("_") in LEADING_ANYWHERE | {"sys", "gc", "inspect"}:
            self.report(node, f"{_short(path)} leads to names by a detour")

    def _Attribute(self, node: ast.Attribute) -> None:
        if id(node) in self.done:
            return
        if node.attr in TOLD_BY_FRAMES:
            self._frame(node.value)
        origins = self.names.resolve(node.value)
        foreign = self._foreign(origins)
        for origin in foreign:
            self._member(node, origin, node.attr)
        if READY.fullmatch(node.attr) or READY_OR_OWN.fullmatch(node.attr):
            of_torch = any(origin.split(".")[0] == "torch" for origin in foreign)
            of_module = bool(origins) and origins <= self.modules
            if not of_torch and not of_module and not (is_self(node.value) and node.attr in self.own):
                self.ready(node, node.attr, forbidden=node.attr not in self.own)
        elif node.attr in LEADING_ATTRIBUTES:
            self.report(node, f"{node.attr} leads to names by a detour")
        elif node.attr == "__dict__":
            self.report(node, "__dict__ leads from strings to names", forbidden=bool(foreign))
        elif node.attr == MASK and isinstance(node.value, ast.Attribute):
            self.report(node, f"{MASK} is taken from torch", forbidden=False)
            self.done.add(id(node.value))
        elif re.fullmatch("__.*__", node.attr) and node.attr not in USUAL_DUNDERS:
            self.report(node, f"{node.attr} is unusual in a module like this", forbidden=False)

    def _frame(self, node: ast.expr) -> None:
        """A text is taken from a frame at once; the frame itself goes nowhere."""
        steps: list[ast.AST] = []
        while isinstance(node, ast.Attribute) and node.attr in ("f_code", "f_back"):
            steps.append(node)
            node = node.value
        if isinstance(node, ast.Call) and "inspect.currentframe" in self.names.resolve(node.func):
            self.done |= {id(step) for step in (*steps, node.func)}

    def _Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            return
        known = self.names.known.get(node.id)
        if node.id in CALLS_BY_STRING:
            self.report(node, f"{node.id} turns strings into code or names", forbidden=not known)
        elif not known and self.names.stars and (READY.fullmatch(node.id) or READY_OR_OWN.fullmatch(node.id)):
            self.ready(node, node.id)
        elif node.id in NAMESPACES and not known:
            self.report(node, f"{node.id}() leads from strings to names", forbidden=False)
        elif node.id in BY_NAME and not known and id(node) not in self.done:
            self.report(node, f"{node.id} is passed on instead of called", forbidden=False)

    def _Call(self, node: ast.Call) -> None:
        called = self.names.resolve(node.func)
        self.done.add(id(node.func) if isinstance(node.func, ast.Name) else 0)
        if "builtins.vars" in called and node.args and self._foreign(self.names.resolve(node.args[0])):
            self.report(node, "vars() of a library leads from strings to names")
        if len(node.args) >= 2 and called & {f"builtins.{name}" for name in BY_NAME}:
            self._by_name(node, node.args[0], node.args[1])
        if isinstance(node.func, ast.Attribute) and node.func.attr == "join":
            self._text(node)
        if isinstance(node.func, ast.Attribute) and "builtins.globals" in self._called(node.func.value):
            self.report(node, "globals() leads from strings to names")

    def _by_name(self, node: ast.Call, base: ast.expr, name: ast.expr) -> None:
        """getattr, setattr or delattr."""
        text, foreign = fold(name), self._foreign(self.names.resolve(base))
        if text is not None and (READY.fullmatch(text) or (READY_OR_OWN.fullmatch(text) and not is_self(base))):
            self.ready(node, text)
        elif text in LEADING_ATTRIBUTES:
            self.report(node, f"{text} leads to names by a detour")
        elif foreign and text is None:
            self.report(node, "a name of a library is made from a string")
        elif foreign:
            for origin in foreign:
                self._member(node, origin, str(text))
            self.report(node, f"a name of a library is given as the string {text!r}", forbidden=False)
        elif text is None and not is_self(base):
            self.report(node, "an attribute's name is made while the program runs", forbidden=False)

    def _Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "__dict__" and not is_self(node.value.value):
            self.report(node, "__dict__ leads from strings to names")
        if self._called(node.value) & {"builtins.globals", "builtins.locals"}:
            self.report(node, "globals() and locals() lead from strings to names")
        if "builtins.vars" in self._called(node.value) and not any(map(is_self, node.value.args)):  # type: ignore[attr-defined]
            self.report(node, "vars() leads from strings to names")
        self._text(node)

    def _called(self, node: ast.AST) -> set[str]:
        """What is called, if the node is a call."""
        return self.names.resolve(node.func) if isinstance(node, ast.Call) else set()

    def _MatchClass(self, node: ast.MatchClass) -> None:
        for name in node.kwd_attrs:
            if READY.fullmatch(name) or READY_OR_OWN.fullmatch(name):
                self.ready(node, name)

    def _Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and READY.fullmatch(node.value.rpartition(".")[2]):
            self.report(node, f"the string {node.value[:60]!r} is the name of a ready-made part", forbidden=False)

    def _BinOp(self, node: ast.BinOp) -> None:
        self._text(node)

    def _JoinedStr(self, node: ast.JoinedStr) -> None:
        self._text(node)

    def _text(self, node: ast.expr) -> None:
        """A text that is put together from pieces must not be the name of a ready-made part."""
        if id(node) in self.done:
            return
        self.done |= {id(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.BinOp)}
        name = (fold(node) or "").rpartition(".")[2]
        if READY.fullmatch(name) or READY_OR_OWN.fullmatch(name):
            self.report(node, f"the name of the ready-made part {name} is put together from pieces")


def _short(path: str) -> str:
    """A name as people write it."""
    path = path.replace("torch.nn.functional.", "F.").replace("torch.nn.", "nn.")
    return path if len(path) <= 80 else path[:80] + "..."
