"""Names to which a function gives something that it does not use, or gives something else first; unused arguments."""

import ast
from collections.abc import Iterator

TO_FILL = ("zeros", "ones", "full", "empty", "new_")


def unused_names(function: ast.FunctionDef) -> set[str]:
    """The names that are stored and never read; most likely they are meant somewhere. Those with _ in front are not."""
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name) and not one.id.startswith("_")]
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
    return {one.id for one in names if isinstance(one.ctx, ast.Store)} - read


def overwritten(body: list[ast.stmt]) -> Iterator[tuple[ast.Assign, ast.Assign]]:
    """The statements of blocks that give something to a name which nothing reads before another one gives it something
    else, and those. A table that is made to be filled is left alone."""
    for number, first in enumerate(body):
        for name in ("body", "orelse", "finalbody"):
            yield from overwritten(getattr(first, name, []))
        target = first.targets[0] if isinstance(first, ast.Assign) else None
        if isinstance(first, ast.Assign) and isinstance(target, ast.Name) and _computes(first.value):
            last = next((one for one in body[number + 1 :] if _reads(one, target.id) or _gives(one, target.id)), None)
            if isinstance(last, ast.Assign) and not _reads(last, target.id):
                yield first, last


def _computes(value: ast.expr) -> bool:
    made = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
    return isinstance(value, (ast.Call, ast.BinOp)) and not made.startswith(TO_FILL)


def _reads(statement: ast.stmt, name: str) -> bool:
    """Whether a statement may read a name, or leave its block."""
    inside = list(ast.walk(statement))
    same = [one for one in inside if isinstance(one, ast.Name) and one.id == name]
    if any(isinstance(one, (ast.Return, ast.Break, ast.Continue, ast.Raise)) for one in inside):
        return True
    return bool(same) and (isinstance(statement, ast.AugAssign) or any(isinstance(one.ctx, ast.Load) for one in same))


def _gives(statement: ast.stmt, name: str) -> bool:
    """Whether a statement gives something to a name, whatever its blocks do."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(one, ast.Name) and one.id == name for one in targets)


def unused_arguments(function: ast.FunctionDef) -> list[str]:
    """The arguments that a function never uses, nor gives something else to."""
    used = {"self", *(one.id for one in ast.walk(function) if isinstance(one, ast.Name))}
    arguments = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    return [name for name in arguments if name not in used and not name.startswith("_")]


def passed_on(statement: ast.stmt) -> Iterator[ast.expr]:
    """What the calls of a statement are given and is made there, not only named."""
    for call in (one for one in ast.walk(statement) if isinstance(one, ast.Call)):
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(value, (ast.Call, ast.BinOp, ast.Subscript)):
                yield value
