"""Distinguish an unwritten part from a faulty part if the stub itself does not raise an exception."""

import ast
import linecache

MOST_NODES = 1_200  # the largest function to examine; an unwritten function has a tenth as many nodes


def is_stub(error: NameError, file: str, function: str, line: int) -> bool:
    """Whether a function fails with `error` only because the code that would define a name is missing.

    In that case, nothing is assigned to the name. Moreover, either a parameter and all variables are unused, or a
    variable computed from the name is unused. A student who has begun, even with a different name, would use them.
    """
    name = getattr(error, "name", None)
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == function and node.lineno <= line <= (node.end_lineno or 0)
    ]
    if not name or not functions:
        return False
    body = functions[-1]
    if sum(1 for _ in ast.walk(body)) > MOST_NODES:
        return False
    names = [node for node in ast.walk(body) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    parameters = {argument.arg for argument in (*body.args.args, *body.args.kwonlyargs)}
    if name in stored | parameters:
        return False
    nothing_used = bool(parameters - read - {"self"}) and not stored & read
    return nothing_used or bool(computed_from(name, body) - read)


def computed_from(name: str, body: ast.FunctionDef) -> set[str]:
    """Return the variables computed only from a name, directly or indirectly."""
    values: dict[str, list[ast.expr]] = {}
    for node in (node for node in ast.walk(body) if isinstance(node, ast.Assign)):
        for target in node.targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    values.setdefault(part.id, []).append(node.value)
    computed = {name}
    for _ in values:
        computed |= {variable for variable, given in values.items() if all(_reads(value, computed) for value in given)}
    return computed - {name}


def _reads(value: ast.expr, names: set[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(value))
