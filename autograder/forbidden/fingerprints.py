"""Fingerprints of functions: the same for a copy in which only names of local variables and texts were changed."""

import ast
import hashlib
from collections import deque

from autograder.forbidden.aliases import Function, children

MIN_NODES = 40  # shorter bodies look alike by chance


def fingerprints(tree: ast.Module) -> list[tuple[str, str]]:
    """For each function that is not trivial its name and a hash of its body, in which local names do not count."""
    result = []
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for prefix, body in [("", tree.body), *((f"{node.name}.", node.body) for node in classes)]:
        for node in body:
            if isinstance(node, Function) and (shape := _shape(node)):
                name = prefix + node.name
                result.append((name, hashlib.sha256(repr(shape).encode("utf-8", "replace")).hexdigest()))
    return result


def _shape(function: Function) -> list[object]:
    local = {arg.arg: number for number, arg in enumerate(a for a in ast.walk(function.args) if isinstance(a, ast.arg))}
    shape: list[object] = []
    nodes = deque[ast.AST](function.body)
    while nodes:
        node = nodes.popleft()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        shape.append(type(node).__name__)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                local.setdefault(node.id, len(local))
            shape.append(local.get(node.id, node.id))
        elif isinstance(node, ast.Attribute):
            shape.append(node.attr)
        elif isinstance(node, ast.Constant):
            shape.append(repr(node.value)[:80])
        nodes.extend(child for field, child in children(node) if field not in ("annotation", "returns"))
    return shape if len(shape) >= MIN_NODES else []
