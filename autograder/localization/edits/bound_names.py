"""Which names of a function have a value where another one is read."""

import ast
from collections.abc import Callable

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Place = tuple[int, int]  # line and column


def bound_names(function: ast.FunctionDef) -> Callable[[str, ast.expr], bool]:
    """Tell whether a name may have a value in the place of an expression of a function.

    It has one if it is an argument, or if a statement before gives it one, or one in the same loop, in an earlier
    round. Names of a comprehension have one only in there.
    """
    arguments = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    # What is called at another time than where it stands may read names that come later.
    anywhere = any(isinstance(node, INNER) for node in ast.walk(function) if node is not function)
    own: dict[str, list[tuple[Place, Place]]] = {}  # of a comprehension: where it begins and ends
    inside: set[int] = set()
    for node in ast.walk(function):
        if not isinstance(node, COMPREHENSIONS):
            continue
        for part in node.generators:
            for name in (one for one in ast.walk(part.target) if isinstance(one, ast.Name)):
                inside.add(id(name))
                own.setdefault(name.id, []).append(_extent(node))
    first: dict[str, int] = {}
    stored = [one for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    is_stored = set(map(id, stored))
    for name in stored:
        if id(name) not in inside:
            first[name.id] = min(name.lineno, first.get(name.id, name.lineno))
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    rounds = [
        (
            node.lineno,
            node.end_lineno or node.lineno,
            {getattr(one, "id", "") for one in ast.walk(node) if id(one) in is_stored},
        )
        for node in loops
    ]

    def bound(name: str, place: ast.expr) -> bool:
        if anywhere or name in arguments or first.get(name, place.lineno) < place.lineno:
            return True
        if any(begin < place.lineno <= end and name in names for begin, end, names in rounds):
            return True
        at = (place.lineno, place.col_offset)
        return any(begin <= at < end for begin, end in own.get(name, ()))

    return bound


def _extent(node: ast.expr) -> tuple[Place, Place]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
