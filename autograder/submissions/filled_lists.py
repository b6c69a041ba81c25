"""Lists that begin empty in a function: what fills them, what reads them, and where the same goes in each time."""

import ast
from collections.abc import Iterator

FILLING = ("append", "extend", "insert")


def empty_lists(function: ast.FunctionDef) -> dict[str, int]:
    """The lists and dictionaries that begin empty, and the lines that make them."""
    nodes = list(ast.walk(function))
    named = [pair for one in nodes if isinstance(one, ast.Assign) for pair in _pairs(one)]
    named += [(one.target, one.value) for one in nodes if isinstance(one, ast.AnnAssign) and one.value]
    return {
        target.id: target.lineno
        for target, value in named
        if isinstance(target, ast.Name) and isinstance(value, (ast.List, ast.Dict)) and not _items(value)
    }


def unfilled_lists(function: ast.FunctionDef) -> Iterator[tuple[int, int, str]]:
    """The returns that give back a list which begins empty and is used nowhere else: their lines, those of the lists,
    and their names."""
    returned = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    for name, made in empty_lists(function).items():
        places = [one for one in names if one.id == name]
        ends = {id(one): end for end in returned for one in ast.walk(end)}
        loaded = [one for one in places if isinstance(one.ctx, ast.Load)]
        # What is given to it a second time, or used in another place, may fill it.
        if len(places) == len(loaded) + 1 and loaded and all(id(one) in ends for one in loaded):
            yield ends[id(loaded[0])].lineno, made, name


def unread_lists(function: ast.FunctionDef) -> set[str]:
    """The names of lists that begin empty and are only filled: most likely they are meant somewhere."""
    nodes, filled = list(ast.walk(function)), set(map(id, what_is_filled(function)))
    read = {
        one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and id(one) not in filled
    }
    return empty_lists(function).keys() - read


def what_is_filled(function: ast.FunctionDef) -> list[ast.expr]:
    """The expressions to which something is appended."""
    holders = [one.value for one in ast.walk(function) if isinstance(one, ast.Attribute) and one.attr in FILLING]
    return [one for holder in holders for one in _either(holder)]


def filled_with_the_same(function: ast.FunctionDef) -> Iterator[tuple[ast.Name, set[str]]]:
    """Names that a loop puts into a list in each round although it does not change them; and the names that it does."""
    for loop in (one for one in ast.walk(function) if isinstance(one, (ast.For, ast.While))):
        names = [one for one in ast.walk(loop) if isinstance(one, ast.Name)]
        changed = {one.id for one in names if isinstance(one.ctx, ast.Store)}
        for call in (one for one in ast.walk(loop) if isinstance(one, ast.Call)):
            put = call.args[0] if isinstance(call.func, ast.Attribute) and call.func.attr == "append" else None
            if isinstance(put, ast.Name) and put.id not in changed:
                yield put, changed


def _either(node: ast.expr) -> list[ast.expr]:
    """What an expression is, or one or the other of `(these if so else others)`."""
    return [*_either(node.body), *_either(node.orelse)] if isinstance(node, ast.IfExp) else [node]


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """What an assignment gives a name, and its value; of `rows, maps = [], []` each of them."""
    [target, *others], value = node.targets, node.value
    if others:
        return []
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [*zip(target.elts, value.elts, strict=True)]
    return [(target, value)]


def _items(value: ast.List | ast.Dict) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.List) else value.values
