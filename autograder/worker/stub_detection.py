"""Tell a part that nobody has written yet from one with an error in it, where the stub does not raise by itself."""

import ast
import linecache

MOST_NODES = 1_200  # of a function that is looked at; what nobody has written yet has a tenth of that


def is_stub(error: NameError, file: str, function: str, line: int) -> bool:
    """Whether a function fails with `error` only because the part that would define the name is missing.

    Then it never stores the name, and what that part would take as its input is used nowhere: some parameter and all
    variables, or a variable that is computed from the name. Who has begun, under another name say, uses them.
    """
    name = getattr(error, "name", None)
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == function and node.lineno <= line <= (node.end_lineno or 0)
    ]
    if not name or not found:
        return False
    body = found[-1]
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
    """The variables that are computed from a name, in any number of steps, and from nothing else."""
    values: dict[str, list[ast.expr]] = {}
    for node in (node for node in ast.walk(body) if isinstance(node, ast.Assign)):
        for target in node.targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    values.setdefault(part.id, []).append(node.value)
    found = {name}
    for _ in values:
        found |= {variable for variable, given in values.items() if all(_reads(value, found) for value in given)}
    return found - {name}


def _reads(value: ast.expr, names: set[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(value))
