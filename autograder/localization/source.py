"""Facts about a line from the source code: its function, the names it uses, and whether its result is used."""

import ast
from collections.abc import Collection, Mapping
from functools import cached_property

from autograder.localization.trace import Line, Trace
from autograder.submissions.syntax_tree import functions, statements

FEW = 3  # at most this many lines, one of which is wrong
# Methods that change their object and whose result nobody uses.
CHANGING = {"append", "extend", "insert", "update", "add", "remove", "pop", "clear", "sort", "reverse", "setdefault"}
TRAINING = {"backward", "step", "zero_grad", "train", "eval", "load_state_dict", "requires_grad_"}


class Source:
    """The source code of a stage's files.

    Args:
        texts: the source code by file name.
        given: the provided functions, "module.Class.method", none of whose lines is wrong.
    """

    def __init__(self, texts: Mapping[str, str], given: Collection[str] = ()) -> None:
        self.texts = texts
        self._given = given

    @cached_property
    def functions(self) -> dict[str, dict[str, ast.FunctionDef]]:
        """The functions of each file, "module.Class.method"; none if the file cannot be parsed."""
        by_file = {}
        for file, text in self.texts.items():
            try:
                by_file[file] = functions(file.removesuffix(".py"), text)
            except (SyntaxError, ValueError, RecursionError):
                by_file[file] = {}
        return by_file

    def function(self, line: Line) -> tuple[str, ast.FunctionDef] | None:
        """The function that contains a line, with its path."""
        for path, node in self.functions.get(line.file, {}).items():
            if node.lineno <= line.number <= (node.end_lineno or node.lineno):
                return path, node
        return None

    def is_given(self, line: Line) -> bool:
        """Whether a line is in a provided function."""
        function = self.function(line)
        return function is not None and function[0] in self._given

    def is_bare_call(self, line: Line) -> bool:
        """Whether a line only calls a method (probably a tensor's) that does not work in place."""
        function = self.function(line)
        nodes = (
            [statement for statement in statements(function[1].body) if statement.lineno == line.number]
            if function
            else []
        )
        return any(isinstance(statement, ast.Expr) and _of_tensor(statement.value) for statement in nodes)

    def lines_filling_arguments(self, trace: Trace) -> tuple[Line, ...]:
        """The statements that write into an argument of a function that ran; none if there are too many."""
        ran = {(line.file, line.number) for line in trace.lines if line}
        lines = []
        for file, in_file in self.functions.items():
            for node in in_file.values():
                arguments = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
                inside = [statement for statement in statements(node.body) if _filled(statement) in arguments]
                if any((file, number) in ran for number in range(node.lineno, (node.end_lineno or 0) + 1)):
                    lines += [
                        Line(file, statement.lineno, statement.end_lineno or statement.lineno) for statement in inside
                    ]
        return tuple(lines) if len(lines) <= FEW else ()

    def with_names(self, distances: dict[tuple[str, int], int], most: int) -> dict[tuple[str, int], int]:
        """Add lines to the distances: a statement that changes a variable used by a line is one step further away."""
        extended, waiting = dict(distances), list(distances)
        while waiting:
            place = waiting.pop(0)
            if extended[place] >= most or (around := self.function(Line(*place, place[1]))) is None:
                continue
            for line in _makers(around[1], place[1]):
                if (place[0], line) not in extended:
                    extended[place[0], line] = extended[place] + 1
                    waiting.append((place[0], line))
        return extended


def _of_tensor(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    name, owner = value.func.attr, value.func.value
    no_tensor = isinstance(owner, ast.Name) and owner.id in ("self", "nn", "init", "warnings", "math")
    writes_out = any(keyword.arg == "out" for keyword in value.keywords)
    return not (
        no_tensor or writes_out or name.endswith("_") or name in CHANGING | TRAINING or name.startswith("register_")
    )


def _makers(function: ast.FunctionDef, number: int) -> set[int]:
    """The lines that a line depends on: lines that assign or fill its names, and headers of loops and ifs around it."""
    nodes = list(statements(function.body))
    heads = [node for node in nodes if node.lineno <= number <= _end_of_head(node)]
    used = {name.id for head in heads for name in _names_of_head(head) if isinstance(name.ctx, ast.Load)}
    lines = {
        node.lineno
        for node in nodes
        if isinstance(node, (ast.For, ast.While, ast.If)) and node.lineno < number <= (node.end_lineno or 0)
    }
    for name in used:
        before = [node.lineno for node in nodes if node.lineno < number and name in _assigned(node)]
        lines |= {max(before)} if before else set()
        lines |= {node.lineno for node in nodes if name == _filled(node)}
    return lines - {number}


def _end_of_head(statement: ast.stmt) -> int:
    body = getattr(statement, "body", None)
    return max(statement.lineno, body[0].lineno - 1) if isinstance(body, list) and body else statement.end_lineno or 0


def _names_of_head(statement: ast.stmt) -> list[ast.Name]:
    parts = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
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
