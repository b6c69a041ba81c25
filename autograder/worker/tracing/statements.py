"""The statements of a student's file by line, each with its lines and the names that it reads and assigns."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

PARTS = ("body", "orelse", "handlers", "finalbody", "cases")  # the fields of a statement that hold other statements


@dataclass(frozen=True)
class Statement:
    """A statement; for an `if` or a loop, only its header."""

    first: int
    last: int
    uses: tuple[str, ...]
    makes: tuple[str, ...]  # names that it assigns, or whose list or dictionary it may change
    returns: bool = False
    inside: tuple[int, int] = (0, 0)  # for the head of a loop: the lines of its body


@cache
def statements(source: str) -> dict[int, Statement]:
    """Return the statement of each line."""
    by_line: dict[int, Statement] = {}
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        inner = [child for name in PARTS for child in getattr(node, name, ())]
        waiting += inner
        if isinstance(node, ast.stmt):
            end = inner[0].lineno - 1 if inner and hasattr(inner[0], "lineno") else node.end_lineno or node.lineno
            end = node.lineno if isinstance(node, ast.Match) else max(node.lineno, end)
            by_line |= dict.fromkeys(range(node.lineno, end + 1), _statement(node, end))
    return by_line


def _statement(node: ast.stmt, end: int) -> Statement:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return Statement(node.lineno, end, (), ())
    names = list(_names(node))
    uses = [target.id for target in names if isinstance(target.ctx, ast.Load)]
    makes = [target.id for target in names if isinstance(target.ctx, ast.Store)]
    changed = [_holder(target) for target in _changed(node)]
    if isinstance(node, ast.AugAssign):
        uses += [name for name in [_holder(node.target)] if name]
    looped = node.body if isinstance(node, (ast.For, ast.While)) else []
    return Statement(
        node.lineno,
        end,
        tuple(dict.fromkeys(uses)),
        tuple(dict.fromkeys([*makes, *(name for name in changed if name)])),
        isinstance(node, ast.Return),
        (looped[0].lineno, looped[-1].end_lineno or looped[-1].lineno) if looped else (0, 0),
    )


def _names(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the names in a statement, except those in nested statements and comprehension variables."""
    waiting: list[ast.AST] = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, ast.Name):
            yield current
        if isinstance(current, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
            yield from (
                name for name in ast.walk(current) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)
            )
            continue
        waiting += [
            child for child in ast.iter_child_nodes(current) if not isinstance(child, (ast.stmt, ast.excepthandler))
        ]


def _changed(node: ast.stmt) -> list[ast.expr]:
    """Return the expressions that a statement changes in place: `counts[gram] = 1`, `scores.append(x)`."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target for target in targets if isinstance(target, ast.Subscript)]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return [node.value.func.value]
    return []


def _holder(node: ast.expr) -> str:
    """Return the name of an element's container: `counts` for `counts[gram]`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
