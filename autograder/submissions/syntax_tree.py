"""Parse modules, one thread at a time: some releases of CPython lose count of the depth, and raise SystemError."""

import ast
import threading

_PARSING = threading.Lock()


def parse(source: str) -> ast.Module:
    """The syntax tree of a source text.

    Raises:
        SyntaxError: if it is none of Python.
    """
    with _PARSING:
        return ast.parse(source)


def functions(module: str, source: str) -> dict[str, ast.FunctionDef]:
    """The functions of a module and the methods of its classes, by the names of the manifest.

    Raises:
        SyntaxError: if it cannot be parsed.
    """
    found = {}
    for node in parse(source).body:
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef):
                found[f"{module}.{owner}{inner.name}"] = inner
    return found
