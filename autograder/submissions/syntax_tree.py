"""Parse modules in one thread at a time: otherwise some CPython releases miscount the depth and raise SystemError."""

import ast
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, TypeVar

_PARSING = threading.Lock()
_CACHES: list[Any] = []
Function = TypeVar("Function", bound=Callable[..., Any])


def kept(maxsize: int) -> Callable[[Function], Function]:
    """Cache a function whose argument is student code, as `lru_cache` does, but only until `forget` is called."""

    def decorated(function: Function) -> Function:
        _CACHES.append(lru_cache(maxsize)(function))
        return _CACHES[-1]

    return decorated


def forget() -> None:
    """Clear all caches, since the next submission has different code."""
    for cache in _CACHES:
        cache.cache_clear()


def parse(source: str) -> ast.Module:
    """Return the syntax tree of source code.

    Raises:
        SyntaxError: if it is not valid Python.
    """
    with _PARSING:
        return ast.parse(source)


@kept(maxsize=32)
def tree_of(source: str) -> ast.Module:
    """Return the cached tree of source code; the tree must not be changed.

    Raises:
        SyntaxError: if it is not valid Python.
    """
    return parse(source)


@kept(maxsize=64)
def functions(module: str, source: str) -> dict[str, ast.FunctionDef]:
    """Return a module's functions and its classes' methods, named as in the manifest; they must not be changed.

    Raises:
        SyntaxError: if it cannot be parsed.
    """
    by_name = {}
    for node in tree_of(source).body:
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef):
                by_name[f"{module}.{owner}{inner.name}"] = inner
    return by_name


class Offsets:
    """The positions of syntax tree nodes in the source code."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.at(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self.at(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def place(self, node: ast.expr | ast.stmt, new: str) -> tuple[int, int, str]:
        """Return a node's start and end, together with its replacement."""
        return self.start(node), self.end(node), new

    def of(self, node: ast.expr | ast.stmt) -> str:
        return self.source[self.start(node) : self.end(node)]


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield all statements in a function's body; statements in a nested block come after the block's header."""
    for node in body:
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):  # a docstring
            yield node
        for name in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, name, []))
