"""What the text of a submission says about a line: its function, the names it uses, and whether its result is used."""

import ast
from collections.abc import Collection, Mapping
from functools import cached_property

from autograder.localization.trace import Line, Trace
from autograder.submissions.syntax_tree import functions, statements

FEW = 3  # lines of which one is wrong
# Methods that change their object and whose result nobody uses.
CHANGING = {"append", "extend", "insert", "update", "add", "remove", "pop", "clear", "sort", "reverse", "setdefault"}
TRAINING = {"backward", "step", "zero_grad", "train", "eval", "load_state_dict", "requires_grad_"}


class Source:
    """The texts of the files of a stage.

    Args:
        texts: by the names of the files.
        given: the given functions, "module.Class.method", of which no line is wrong.
    """

    def __init__(self, texts: Mapping[str, str], given: Collection[str] = ()) -> None:
        self.texts = texts
        self._given = given

    @cached_property
    def functions(self) -> dict[str, dict[str, ast.FunctionDef]]:
        """The functions of each file, "module.Class.method"; none of a file that cannot be parsed."""
        found = {}
        for file, text in self.texts.items():
            try:
                found[file] = functions(file.removesuffix(".py"), text)
            except (SyntaxError, ValueError, RecursionError):
                found[file] = {}
        return found

    def function(self, line: Line) -> tuple[str, ast.FunctionDef] | None:
        """The function around a line, with its path."""
        for path, node in self.functions.get(line.file, {}).items():
            if node.lineno <= line.number <= (node.end_lineno or node.lineno):
                return path, node
        return None

    def is_given(self, line: Line) -> bool:
        """Whether a line is in a given function."""
        found = self.function(line)
        return found is not None and found[0] in self._given

    def is_bare_call(self, line: Line) -> bool:
        """Whether a line only calls a method of a tensor, perhaps, that does not work in place."""
        found = self.function(line)
        nodes = [one for one in statements(found[1].body) if one.lineno == line.number] if found else []
        return any(isinstance(one, ast.Expr) and _of_tensor(one.value) for one in nodes)

    def lines_filling_arguments(self, trace: Trace) -> tuple[Line, ...]:
        """The statements of functions that ran which write into an argument of theirs, if these are few."""
        ran = {(line.file, line.number) for line in trace.lines if line}
        found = []
        for file, own in self.functions.items():
            for node in own.values():
                arguments = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
                inside = [one for one in statements(node.body) if _filled(one) in arguments]
                if any((file, number) in ran for number in range(node.lineno, (node.end_lineno or 0) + 1)):
                    found += [Line(file, one.lineno, one.end_lineno or one.lineno) for one in inside]
        return tuple(found) if len(found) <= FEW else ()

    def with_names(self, distances: dict[tuple[str, int], int], most: int) -> dict[tuple[str, int], int]:
        """Distances of lines, with those of the statements that assign or fill the names used there: one further."""
        found, waiting = dict(distances), list(distances)
        while waiting:
            place = waiting.pop(0)
            if found[place] >= most or (around := self.function(Line(*place, place[1]))) is None:
                continue
            for line in _makers(around[1], place[1]):
                if (place[0], line) not in found:
                    found[place[0], line] = found[place] + 1
                    waiting.append((place[0], line))
        return found


def _of_tensor(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    name, of = value.func.attr, value.func.value
    own = isinstance(of, ast.Name) and of.id in ("self", "nn", "init", "warnings", "math")
    into = any(keyword.arg == "out" for keyword in value.keywords)
    return not (own or into or name.endswith("_") or name in CHANGING | TRAINING or name.startswith("register_"))


def _makers(function: ast.FunctionDef, number: int) -> set[int]:
    """The lines that assign, before a line, or fill the names that it uses; and the heads of loops around it."""
    nodes = list(statements(function.body))
    own = [one for one in nodes if one.lineno <= number <= _end_of_head(one)]
    used = {name.id for one in own for name in _names_of_head(one) if isinstance(name.ctx, ast.Load)}
    found = {
        one.lineno
        for one in nodes
        if isinstance(one, (ast.For, ast.While, ast.If)) and one.lineno < number <= (one.end_lineno or 0)
    }
    for name in used:
        before = [one.lineno for one in nodes if one.lineno < number and name in _assigned(one)]
        found |= {max(before)} if before else set()
        found |= {one.lineno for one in nodes if name == _filled(one)}
    return found - {number}


def _end_of_head(statement: ast.stmt) -> int:
    body = getattr(statement, "body", None)
    return max(statement.lineno, body[0].lineno - 1) if isinstance(body, list) and body else statement.end_lineno or 0


def _names_of_head(statement: ast.stmt) -> list[ast.Name]:
    parts = [one for one in ast.iter_child_nodes(statement) if not isinstance(one, ast.stmt)]
    return [name for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)]


def _assigned(statement: ast.stmt) -> set[str]:
    return {name.id for name in _names_of_head(statement) if isinstance(name.ctx, ast.Store)}


def _filled(statement: ast.stmt) -> str:
    """The name of the list or tensor that a statement writes into."""
    value: ast.AST = statement
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        value = getattr(statement.value.func, "value", statement)
    elif isinstance(statement, (ast.Assign, ast.AugAssign)):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        value = target.value if isinstance(target, ast.Subscript) else statement
    return value.id if isinstance(value, ast.Name) else ""
