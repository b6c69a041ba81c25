"""What the text of a submission says about a line: whether its function is given, and which numbers it uses."""

import ast
from collections.abc import Callable, Collection, Mapping

from autograder.sandbox.traces import Line
from autograder.submissions.syntax_tree import functions

Numbers = tuple[tuple[str, float, int], ...]  # names, values, lines


def in_given(sources: Mapping[str, str], names: Collection[str]) -> Callable[[Line], bool]:
    """Whether a line is of a given function.

    Args:
        sources: the texts of the files, by their names.
        names: the given functions, "module.Class.method".
    """
    spans = [
        (file, node.lineno, node.end_lineno or node.lineno)
        for file, text in sources.items()
        for path, node in _functions(file, text).items()
        if path in names
    ]
    return lambda line: any(file == line.file and first <= line.number <= last for file, first, last in spans)


def numbers_used(sources: Mapping[str, str], line: Line, values: Mapping[str, float]) -> Numbers:
    """The numbers that a line uses by names to which another statement of its function gives them.

    Args:
        values: the local variables that are numbers, when the line was reached.

    Returns:
        for each its name, its value and the number of the line that made it.
    """
    for node in _functions(line.file, sources.get(line.file, "")).values():
        if node.lineno <= line.number <= (node.end_lineno or node.lineno):
            return _numbers_in(node, line, values)
    return ()


def _functions(file: str, text: str) -> dict[str, ast.FunctionDef]:
    try:
        return functions(file.removesuffix(".py"), text)
    except (SyntaxError, ValueError, RecursionError):
        return {}


def _numbers_in(
    function: ast.FunctionDef, line: Line, values: Mapping[str, float]
) -> tuple[tuple[str, float, int], ...]:
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    used = [node.id for node in names if isinstance(node.ctx, ast.Load) and line.number <= node.lineno <= line.end]
    made: dict[str, int] = {}
    for statement in ast.walk(function):
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and statement.lineno < line.number:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    made[node.id] = max(made.get(node.id, 0), statement.lineno)
    return tuple((name, values[name], made[name]) for name in dict.fromkeys(used) if name in made and name in values)
