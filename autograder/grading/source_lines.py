"""What the text of a submission says about a line: whether its function is given, and which numbers it uses."""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping

from autograder.diagnosis.module_outputs import only
from autograder.grading.function_text import FunctionText, functions_of
from autograder.sandbox.traces import Line
from autograder.submissions.syntax_tree import tree_of

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
        for path, function in functions_of(file, text).items()
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
        for function in functions_of(file, text).values()
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
        for function in functions_of(file, text).values()
        if _inside(function, file, ran)
        for at, made, name in function.unfilled
    ]


def written_arguments(sources: Mapping[str, str], ran: Collection[Line]) -> list[Line]:
    """The statements of functions that write into a list or a dictionary which is an argument of theirs.

    Args:
        ran: lines that have run; other functions are left alone, and branches, if one of another statement has run.
    """
    numbers = {(line.file, line.number) for line in ran}
    found = {
        Line(file, first, last): any((file, number) in numbers for number in range(begin, end + 1))
        for file, text in sources.items()
        for function in functions_of(file, text).values()
        if _inside(function, file, ran)
        for first, last, begin, end in function.writes
    }
    return [line for line, runs in found.items() if runs] or list(found)


def idle_statements(sources: Mapping[str, str], ran: Collection[Line]) -> dict[Line, str]:
    """The statements of functions that have run which do nothing, and whether one "computes" or "asks" something."""
    return {
        Line(file, first, last): does
        for file, text in sources.items()
        for function in functions_of(file, text).values()
        if _inside(function, file, ran)
        for first, last, does in function.idle
    }


def keeping_line(sources: Mapping[str, str], attribute: str, ran: Collection[Line]) -> tuple[Line | None, bool]:
    """The only statement that gives something to an attribute, or the only one that has run after the constructor; and
    whether that had given it something before.

    Args:
        ran: lines that have run.
    """
    found = {
        Line(file, first, last): path
        for file, text in sources.items()
        for path, function in functions_of(file, text).items()
        for first, last, name in function.keeps
        if name == attribute
    }
    first = {line for line, path in found.items() if path.endswith("__init__")}
    later = [line for line in found if line in ran and line not in first]
    return only([*found] if len(found) == 1 else later), len(found) > 1 and bool(first)


def keeps_what_was_made(sources: Mapping[str, str], line: Line) -> bool:
    """Whether a statement gives a name to an attribute, or a view of what has that name: it is made elsewhere."""
    text = sources.get(line.file, "")
    nodes = [one for one in ast.walk(tree_of(text)) if isinstance(one, (ast.Assign, ast.Expr))]
    for node in (one for one in nodes if one.lineno == line.number):
        value = node.value
        if isinstance(node, ast.Expr) and isinstance(value, ast.Call) and len(value.args) > 1:  # register_buffer
            value = value.args[1]
        while isinstance(value, (ast.Attribute, ast.Call, ast.Subscript)):
            value = value.func if isinstance(value, ast.Call) else value.value
        if isinstance(value, ast.Name) and value.id != "self":
            return True
    return False


def only_statement(sources: Mapping[str, str], ran: Collection[Line]) -> tuple[Line | None, str]:
    """The only line of some that have run, if it is the only statement of its function as well, or one of the branches
    that are all of it; and what is wrong then."""
    line = only(ran)
    every = functions_of(line.file, sources.get(line.file, "")).values() if line else ()
    own = [one for one in every if line and one.first <= line.number <= one.last]
    if any(function.chooses for function in own):
        return line, "gives back something else than it should, or another branch should have been taken"
    alone = any(line and function.alone == line.number for function in own)
    return line if alone else None, "is all that computes here, and gives back something else than it should"


def idle_loops(sources: Mapping[str, str], ran: Collection[Line], end: Line | None = None) -> list[Line]:
    """The heads of loops of functions that have run, of which no line has run that makes something.

    Args:
        end: a line of the only function that is looked at, before which the loops are.
    """
    numbers = {(line.file, line.number) for line in ran}
    return [
        Line(file, head, head)
        for file, text in sources.items()
        for function in functions_of(file, text).values()
        if _inside(function, file, [end] if end else ran)
        for head, first, last in function.loops
        if (end is None or last < end.number) and not any((file, one) in numbers for one in range(first, last + 1))
    ]


def _inside(function: FunctionText, file: str, lines: Iterable[Line]) -> bool:
    return any(line.file == file and function.first <= line.number <= function.last for line in lines)


def gathering_returns(sources: Mapping[str, str]) -> Callable[[Line], bool]:
    """Whether a line is a `return` of lists that several statements fill, one of which may be wrong."""
    return _among(sources, lambda function: [at for at, _, filling in function.filled if filling is None])


def uses_filled(sources: Mapping[str, str], line: Line) -> bool:
    """Whether a line uses a list or a tensor that statements of its function fill, of which one may be wrong."""
    for function in functions_of(line.file, sources.get(line.file, "")).values():
        if function.first <= line.number <= function.last:
            filled = {name for _, name in (*function.writes_into, *function.fills)}
            return any(name in filled for number, name in function.used if line.number <= number <= line.end)
    return False


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
        the line, the last one that wrote into that, those that filled it, and in a loop those of the round before. Left
        out are sizes of a tensor, variables of a loop, and the values of numbers that it changes: each round has
        others. At the end the numbers that go into those lines, "name = value".
    """
    for function in functions_of(line.file, sources.get(line.file, "")).values():
        if function.first <= line.number <= function.last:
            used = dict.fromkeys(name for number, name in function.used if line.number <= number <= line.end)
            made: dict[str, tuple[int, ...]] = {}
            made |= {name: (number,) for number, name in function.made if number < line.number}
            for number, name in function.writes_into:
                if name in made and made[name][0] < number < line.number:
                    made[name] = (made[name][0], number)
            for number, name in function.fills:
                if name in made and made[name][0] < number < line.number:
                    made[name] = (*made[name], number)
            again = [one for one in function.made if one[0] > line.end and one[1] in function.changing]
            later = {name: (number,) for number, name in again}
            around = [last for head, _, last in function.loops if head <= line.number <= last]
            for number, name in function.writes_into:
                if line.end < number <= max(around, default=0):
                    later[name] = (*later.get(name, ()), number)
            known = [name for name in used if name in made]
            # What a branch has made that the line is not in: whether it ran is not known of all.
            elsewhere = [one for one in function.branches if line.number not in range(*one)]
            runs = {one.number for one in ran if one and one.file == line.file}
            unsure = {at for one in elsewhere for at in range(*one)} - runs
            known = [name for name in known if made[name][0] not in unsure]
            known.sort(key=lambda name: -made[name][0])
            told = {name: value for name, value in values.items() if name not in function.changing}
            # A size from which a mask or a range is made is as near as these.
            places = [number for name in known for number in made[name]]
            behind = dict.fromkeys(name for number, name in function.used if number in places and name not in used)
            kept = _kept_tensors(sources, line, runs)
            return (
                *((name, told.get(name), made[name] + later.get(name, ())) for name in known),
                *((f"self.{name}", None, (number,)) for name, number in kept.items()),
                *((f"{name} = {told[name]:g}", None, made[name]) for name in behind if name in told and name in made),
            )
    return ()


def _kept_tensors(sources: Mapping[str, str], line: Line, runs: Collection[int]) -> dict[str, int]:
    """The attributes that a line uses and one other line of its file keeps, which has made something, and that line."""
    text = sources.get(line.file, "")
    keeps = [(name, first) for one in functions_of(line.file, text).values() for first, _, name in one.keeps]
    used = set(re.findall(r"\bself\.(\w+)", "\n".join(text.splitlines()[line.number - 1 : line.end])))
    once = [(name, first) for name, first in keeps if [other for other, _ in keeps].count(name) == 1]
    return {name: first for name, first in once if name in used and first in runs and first != line.number}


def named_attributes(sources: Mapping[str, str]) -> Callable[[Line, str], bool]:
    """Whether a statement has an attribute of `self` (the 0 of "layers.0" is none)."""

    def names(line: Line, attribute: str) -> bool:
        lines = sources.get(line.file, "").splitlines()[line.number - 1 : line.end]
        return any(re.search(rf"\bself\.{re.escape(attribute)}\b", one) for one in lines)

    return names


def only_naming_line(sources: Mapping[str, str], line: Line, attribute: str) -> Line | None:
    """The only line of a file, but for constructors, that has an attribute of `self` in it."""
    text = sources.get(line.file, "")
    every = {path: one for path, one in functions_of(line.file, text).items() if not path.endswith("__init__")}
    found = [
        Line(line.file, number, number)
        for number, code in enumerate(text.splitlines(), 1)
        if re.search(rf"\bself\.{re.escape(attribute)}\b", code.partition("#")[0])
        and any(one.first <= number <= one.last for one in every.values())
    ]
    return only(found)


def names_written_last(sources: Mapping[str, str]) -> Callable[[Line], str]:
    """The name of a tensor into which a line writes, and which its function does not use any more; "" of others."""
    found = {
        (file, line): name
        for file, text in sources.items()
        for function in functions_of(file, text).values()
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
        own = functions_of(file, sources.get(file, "")).values()
        end = max((function.ends.get(number, number) for function in own), default=number)
        for _, _, lines in names_used(sources, Line(file, number, end), {}):
            for at in lines:
                if (file, at) not in way:
                    way[file, at] = way[file, number] + 1
                    waiting.append((file, at))
    return way


def _among(sources: Mapping[str, str], lines: Callable[[FunctionText], Iterable[int]]) -> Callable[[Line], bool]:
    """Whether a line is one of those that are found in a function of its file."""
    found = {
        (file, number)
        for file, text in sources.items()
        for function in functions_of(file, text).values()
        for number in lines(function)
    }
    return lambda line: (line.file, line.number) in found
