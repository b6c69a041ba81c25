"""The statements of a student's file, by their lines: where each begins and ends, which names it uses and makes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

PARTS = ("body", "orelse", "handlers", "finalbody", "cases")  # of a statement, that hold others


@dataclass(frozen=True)
class Statement:
    """A statement; of an `if` or a loop its head."""

    first: int
    last: int
    uses: tuple[str, ...]
    makes: tuple[str, ...]  # names that it gives to something, or whose list or dictionary it may change
    returns: bool = False
    inside: tuple[int, int] = (0, 0)  # of the head of a loop: the lines of what is repeated


@cache
def statements(source: str) -> dict[int, Statement]:
    """The statement of each line."""
    found: dict[int, Statement] = {}
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        inner = [one for name in PARTS for one in getattr(node, name, ())]
        waiting += inner
        if isinstance(node, ast.stmt):
            end = inner[0].lineno - 1 if inner and hasattr(inner[0], "lineno") else node.end_lineno or node.lineno
            end = node.lineno if isinstance(node, ast.Match) else max(node.lineno, end)
            found |= dict.fromkeys(range(node.lineno, end + 1), _statement(node, end))
    return found


def _statement(node: ast.stmt, end: int) -> Statement:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return Statement(node.lineno, end, (), ())
    names = list(_names(node))
    uses = [one.id for one in names if isinstance(one.ctx, ast.Load)]
    makes = [one.id for one in names if isinstance(one.ctx, ast.Store)]
    changed = [_holder(one) for one in _changed(node)]
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
    """The names in a statement, without those in the statements inside it and without those of comprehensions."""
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name):
            yield one
        if isinstance(one, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
            yield from (name for name in ast.walk(one) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load))
            continue
        waiting += [
            child for child in ast.iter_child_nodes(one) if not isinstance(child, (ast.stmt, ast.excepthandler))
        ]


def _changed(node: ast.stmt) -> list[ast.expr]:
    """What a statement changes without giving it a name: `counts[gram] = 1`, `scores.append(x)`."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [one for one in targets if isinstance(one, ast.Subscript)]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return [node.value.func.value]
    return []


def _holder(node: ast.expr) -> str:
    """The name of what holds an element: `counts` of `counts[gram]`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
