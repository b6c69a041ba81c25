"""Find out which of a function's names have a value at a given expression."""

import ast
from collections.abc import Callable

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Place = tuple[int, int]  # line and column


def bound_names(function: ast.FunctionDef) -> Callable[[str, ast.expr], bool]:
    """Return a function that checks whether a name may have a value at an expression.

    Arguments have a value, and so do names assigned by an earlier statement, or anywhere in the same loop: an earlier
    iteration may have assigned them. Names of a comprehension have a value only inside it.
    """
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    # Inner functions run later and may read names that are assigned after them.
    anywhere = any(isinstance(node, INNER) for node in ast.walk(function) if node is not function)
    comprehensions: dict[str, list[tuple[Place, Place]]] = {}  # where the comprehensions that bind a name begin and end
    inside: set[int] = set()
    for node in ast.walk(function):
        if not isinstance(node, COMPREHENSIONS):
            continue
        for part in node.generators:
            for name in (node for node in ast.walk(part.target) if isinstance(node, ast.Name)):
                inside.add(id(name))
                comprehensions.setdefault(name.id, []).append(_extent(node))
    first: dict[str, int] = {}
    stored = [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    is_stored = set(map(id, stored))
    for name in stored:
        if id(name) not in inside:
            first[name.id] = min(name.lineno, first.get(name.id, name.lineno))
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    rounds = [
        (
            node.lineno,
            node.end_lineno or node.lineno,
            {getattr(part, "id", "") for part in ast.walk(node) if id(part) in is_stored},
        )
        for node in loops
    ]

    def bound(name: str, place: ast.expr) -> bool:
        if anywhere or name in arguments or first.get(name, place.lineno) < place.lineno:
            return True
        if any(begin < place.lineno <= end and name in names for begin, end, names in rounds):
            return True
        at = (place.lineno, place.col_offset)
        return any(begin <= at < end for begin, end in comprehensions.get(name, ()))

    return bound


def _extent(node: ast.expr) -> tuple[Place, Place]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
