"""Names that a function assigns and never reads, and arguments that it never uses."""

import ast
from collections.abc import Iterator


def unused_names(function: ast.FunctionDef) -> set[str]:
    """The names that are stored and never read; most likely they are meant somewhere. Those with _ in front are not."""
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name) and not one.id.startswith("_")]
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
    return {one.id for one in names if isinstance(one.ctx, ast.Store)} - read


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
