"""What the text of a submission says about a line: whether its function is given, and which numbers it uses."""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from autograder.grading.changed_names import CHANGING, changed_name, last_writes, names_of_arguments, writes
from autograder.sandbox.traces import Line
from autograder.submissions.loop_bodies import makes_something
from autograder.submissions.syntax_tree import functions

Used = tuple[tuple[str, float | None, tuple[int, ...]], ...]  # names, values of numbers, lines


def in_given(sources: Mapping[str, str], names: Collection[str]) -> Callable[[Line], bool]:
    """Whether a line is of a given function.

    Args:
        sources: the texts of the files, by their names.
        names: the given functions, "module.Class.method".
    """
    spans = [
        (file, function.first, function.last)
        for file, text in sources.items()
        for path, function in _functions(file, text).items()
        if path in names
    ]
    return lambda line: any(file == line.file and first <= line.number <= last for file, first, last in spans)


def bare_calls(sources: Mapping[str, str]) -> Callable[[Line], bool]:
    """Whether a line is a call of a method whose result gets no name, as `scores.masked_fill(mask, value)`.

    One whose name ends with an underscore changes its object; so may the methods of `self`, and functions.
    """
    return _among(sources, lambda function: function.bare)


def filled_lists(sources: Mapping[str, str]) -> Callable[[Line], tuple[int, Line] | None]:
    """What a `return` gives back last, if that is a list which one statement fills: how many values stand before it in
    the `return`, and the line of the statement."""
    found = {
        (file, at): (before, Line(file, filling.lineno, filling.end_lineno or filling.lineno))
        for file, text in sources.items()
        for function in _functions(file, text).values()
        for at, before, filling in function.filled
        if filling
    }
    return lambda line: found.get((line.file, line.number))


def unfilled_lists(sources: Mapping[str, str], ran: Collection[Line]) -> list[tuple[Line, int, str]]:
    """The returns of functions which give back a list that stays empty whatever happens: the line of each, that of what
    makes the list, and its name.

    Args:
        ran: lines that have run; other functions are left alone.
    """
    return [
        (Line(file, at, at), made, name)
        for file, text in sources.items()
        for function in _functions(file, text).values()
        if _inside(function, file, ran)
        for at, made, name in function.unfilled
    ]


def written_arguments(sources: Mapping[str, str], ran: Collection[Line]) -> list[Line]:
    """The statements of functions that write into a list or a dictionary which is an argument of theirs.

    Args:
        ran: lines that have run; other functions are left alone.
    """
    return [
        Line(file, first, last)
        for file, text in sources.items()
        for function in _functions(file, text).values()
        if _inside(function, file, ran)
        for first, last in function.writes
    ]


def idle_loops(sources: Mapping[str, str], ran: Collection[Line], end: Line | None = None) -> list[Line]:
    """The heads of loops of functions that have run, of which no line has run that makes something.

    Args:
        end: a line of the only function that is looked at, before which the loops are.
    """
    numbers = {(line.file, line.number) for line in ran}
    return [
        Line(file, head, head)
        for file, text in sources.items()
        for function in _functions(file, text).values()
        if _inside(function, file, [end] if end else ran)
        for head, first, last in function.loops
        if (end is None or last < end.number) and not any((file, one) in numbers for one in range(first, last + 1))
    ]


def _inside(function: "_Function", file: str, lines: Iterable[Line]) -> bool:
    return any(line.file == file and function.first <= line.number <= function.last for line in lines)


def gathering_returns(sources: Mapping[str, str]) -> Callable[[Line], bool]:
    """Whether a line is a `return` of lists that several statements fill, one of which may be wrong."""
    return _among(sources, lambda function: [at for at, _, filling in function.filled if filling is None])


def making_returns(sources: Mapping[str, str]) -> Callable[[Line], bool]:
    """Whether a line is a `return` that calls or computes something, and does not only pass on names."""
    return _among(sources, lambda function: function.making)


def names_used(
    sources: Mapping[str, str], line: Line, values: Mapping[str, float], ran: Collection[Line | None] = ()
) -> Used:
    """The names that a line uses and another statement of its function has given to something, the last ones first.

    Args:
        values: the local variables that are numbers, when the line was reached.
        ran: lines that have run.

    Returns:
        for each its name, its value if it is a number, and the numbers of the lines that made it: the last one before
        the line, the last one that wrote into that, and in a loop the last one of the round before. Left out are sizes
        of a tensor, variables of a loop, and the values of numbers that it changes: each round has others.
    """
    for function in _functions(line.file, sources.get(line.file, "")).values():
        if function.first <= line.number <= function.last:
            used = dict.fromkeys(name for number, name in function.used if line.number <= number <= line.end)
            made: dict[str, tuple[int, ...]] = {}
            made |= {name: (number,) for number, name in function.made if number < line.number}
            for number, name in function.writes_into:
                if name in made and made[name][0] < number < line.number:
                    made[name] = (made[name][0], number)
            again = [one for one in function.made if one[0] > line.end and one[1] in function.changing]
            later = {name: (number,) for number, name in again}
            known = [name for name in used if name in made]
            # What a branch has made that the line is not in: whether it ran is not known of all.
            elsewhere = [one for one in function.branches if line.number not in range(*one)]
            runs = {one.number for one in ran if one and one.file == line.file}
            unsure = {at for one in elsewhere for at in range(*one)} - runs
            known = [name for name in known if made[name][0] not in unsure]
            known.sort(key=lambda name: -made[name][0])
            told = {name: value for name, value in values.items() if name not in function.changing}
            return tuple((name, told.get(name), made[name] + later.get(name, ())) for name in known)
    return ()


def named_attributes(sources: Mapping[str, str]) -> Callable[[Line, str], bool]:
    """Whether a statement has an attribute of `self` (the 0 of "layers.0" is none)."""

    def names(line: Line, attribute: str) -> bool:
        lines = sources.get(line.file, "").splitlines()[line.number - 1 : line.end]
        return any(re.search(rf"\bself\.{re.escape(attribute)}\b", one) for one in lines)

    return names


def names_written_last(sources: Mapping[str, str]) -> Callable[[Line], str]:
    """The name of a tensor into which a line writes, and which its function does not use any more; "" of others."""
    found = {
        (file, line): name
        for file, text in sources.items()
        for function in _functions(file, text).values()
        for line, name in function.last_writes.items()
    }
    return lambda line: found.get((line.file, line.number), "")


def early_returns(sources: Mapping[str, str]) -> Callable[[Line], bool]:
    """Whether a line is a `return` of names in a block: what decides whether it is reached may be what is wrong."""
    return _among(sources, lambda function: function.early)


def with_names(way: dict[tuple[str, int], int], sources: Mapping[str, str]) -> dict[tuple[str, int], int]:
    """The lines on a way, and those that make what these use by its name: numbers are not seen among the operations."""
    waiting = list(way)
    while waiting:
        file, number = waiting.pop(0)
        own = _functions(file, sources.get(file, "")).values()
        end = max((function.ends.get(number, number) for function in own), default=number)
        for _, _, lines in names_used(sources, Line(file, number, end), {}):
            for at in lines:
                if (file, at) not in way:
                    way[file, at] = way[file, number] + 1
                    waiting.append((file, at))
    return way


@dataclass(frozen=True)
class _Function:
    """A function or a method: its lines, and where names are used and given to something."""

    first: int
    last: int
    used: tuple[tuple[int, str], ...]
    made: tuple[tuple[int, str], ...]
    changing: frozenset[str]  # names to which a loop gives something
    branches: tuple[tuple[int, int], ...]  # the first line of each `if`, and the one after its last
    bare: tuple[int, ...]  # calls of methods of local names, whose results get no name
    # Lines of `return`, values before a list, and what fills the list, if it is one statement.
    filled: tuple[tuple[int, int, ast.stmt | None], ...]
    unfilled: tuple[tuple[int, int, str], ...]  # lines of `return`, of what makes an empty list, and its name
    making: tuple[int, ...]  # lines of `return` that call or compute something
    early: tuple[int, ...]  # lines of those in a block that only pass on names
    loops: tuple[tuple[int, int, int], ...]  # heads, the first line behind each, and its last one
    ends: Mapping[int, int]  # the last lines of statements without blocks, by their first ones
    writes_into: tuple[tuple[int, str], ...]  # lines that write into a tensor, and its name
    last_writes: Mapping[int, str]  # lines that write into a tensor that is not used any more, and its name
    writes: tuple[tuple[int, int], ...]  # the first and the last line of statements that write into an argument


def _among(sources: Mapping[str, str], lines: Callable[["_Function"], Iterable[int]]) -> Callable[[Line], bool]:
    """Whether a line is one of those that are found in a function of its file."""
    found = {
        (file, number)
        for file, text in sources.items()
        for function in _functions(file, text).values()
        for number in lines(function)
    }
    return lambda line: (line.file, line.number) in found


@lru_cache(maxsize=64)
def _functions(file: str, text: str) -> dict[str, _Function]:
    try:
        found = functions(file.removesuffix(".py"), text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {path: _read(node) for path, node in found.items()}


def _read(function: ast.FunctionDef) -> _Function:
    nodes = list(ast.walk(function))
    used: list[tuple[int, str]] = []
    made: list[tuple[int, str]] = []
    sizes = {id(name) for node in nodes for name in _unpacked(node)}
    loops = [node for node in nodes if isinstance(node, (ast.For, ast.While))]
    names = {id(name): name for loop in loops for name in ast.walk(loop) if isinstance(name, ast.Name)}
    changing = frozenset(name.id for name in names.values() if not isinstance(name.ctx, ast.Load))
    heads = [node.target for node in nodes if isinstance(node, (ast.For, ast.comprehension))]
    rounds = {name.id for head in heads for name in ast.walk(head) if isinstance(name, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Name) and id(node) not in sizes and node.id not in rounds:
            (used if isinstance(node.ctx, ast.Load) else made).append((node.lineno, node.id))
    bare = [node.lineno for node in nodes if isinstance(node, ast.Expr) and _of_tensor(node.value)]
    branches = tuple((node.lineno, (node.end_lineno or node.lineno) + 1) for node in nodes if isinstance(node, ast.If))
    end, filled, unfilled = function.end_lineno or function.lineno, tuple(_filled(function)), tuple(_unfilled(function))
    own, given = tuple(sorted(used)), tuple(sorted(made))
    returns = [node for node in nodes if isinstance(node, ast.Return) and node.value]
    makes = (ast.Call, ast.BinOp, ast.Subscript)
    making = tuple(node.lineno for node in returns if any(isinstance(one, makes) for one in ast.walk(node)))
    early = tuple(node.lineno for node in returns if node not in function.body and node.lineno not in making)
    spans = tuple(
        (one.lineno, one.body[0].lineno, one.end_lineno or one.lineno) for one in loops if makes_something(one.body)
    )
    changing_others = [node for node in nodes if isinstance(node, (ast.Expr, ast.Assign))]
    arguments, others = names_of_arguments(function)
    written = [one for one in changing_others if changed_name(one) in arguments]
    written = written or [one for one in changing_others if changed_name(one) in others]
    whole = [node for node in nodes if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    ends = {node.lineno: node.end_lineno or node.lineno for node in whole}
    return _Function(
        function.lineno,
        end,
        own,
        given,
        changing,
        branches,
        tuple(bare),
        filled,
        unfilled,
        making,
        early,
        spans,
        ends,
        writes(function),
        last_writes(function),
        tuple((one.lineno, one.end_lineno or one.lineno) for one in written),
    )


def _unfilled(function: ast.FunctionDef) -> Iterator[tuple[int, int, str]]:
    """The returns that give back a list which begins empty and is used nowhere else: their lines, those of the lists,
    and their names."""
    returned = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    for name, made in _empty(function).items():
        places = [one for one in names if one.id == name]
        ends = {id(one): end for end in returned for one in ast.walk(end)}
        loaded = [one for one in places if isinstance(one.ctx, ast.Load)]
        # What is given to it a second time, or used in another place, may fill it.
        if len(places) == len(loaded) + 1 and loaded and all(id(one) in ends for one in loaded):
            yield ends[id(loaded[0])].lineno, made, name


def _empty(function: ast.FunctionDef) -> dict[str, int]:
    """The lists and dictionaries that begin empty, and the lines that make them."""
    nodes = list(ast.walk(function))
    named = [(one.targets[0], one.value) for one in nodes if isinstance(one, ast.Assign) and len(one.targets) == 1]
    named += [(one.target, one.value) for one in nodes if isinstance(one, ast.AnnAssign) and one.value]
    return {
        target.id: target.lineno
        for target, value in named
        if isinstance(target, ast.Name) and isinstance(value, (ast.List, ast.Dict)) and not _items(value)
    }


def _filled(function: ast.FunctionDef) -> Iterator[tuple[int, int, ast.stmt | None]]:
    """The returns that give back a list which begins empty and is filled by one statement; without a statement those
    of other lists."""
    nodes, lists = list(ast.walk(function)), _empty(function)
    fills: dict[str, list[ast.stmt]] = {}
    for node in nodes:
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)) and (name := changed_name(node)):
            fills.setdefault(name, []).append(node)
    for node in nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            names = [value.id if isinstance(value, ast.Name) else "" for value in values]
            if names and names[-1] in lists and len(fills.get(names[-1], [])) == 1:
                yield node.lineno, len(values) - 1, fills[names[-1]][0]
            elif any(len(fills.get(name, [])) > 1 for name in names):
                yield node.lineno, 0, None


def _items(value: ast.List | ast.Dict) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.List) else value.values


def _of_tensor(value: ast.expr) -> bool:
    """Whether a call may be of a method of a tensor that leaves this as it is."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    holder, name = value.func.value, value.func.attr
    return (
        not name.endswith("_") and name not in CHANGING and not (isinstance(holder, ast.Name) and holder.id == "self")
    )


def _unpacked(node: ast.AST) -> list[ast.expr]:
    """The names that get the sizes of a tensor as it is, as in `rows, columns = x.shape`: they are hardly wrong."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return []
    value = node.value.func if isinstance(node.value, ast.Call) and not node.value.args else node.value
    whole = isinstance(value, ast.Attribute) and value.attr in ("shape", "size")
    return list(node.targets[0].elts) if whole else []
