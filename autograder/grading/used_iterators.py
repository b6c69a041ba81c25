"""What a function goes through twice: of an iterator nothing is left for the second time."""

import ast
from collections.abc import Mapping

from autograder.sandbox.traces import Line
from autograder.submissions.syntax_tree import functions


def gone_through_before(sources: Mapping[str, str], loop: Line) -> Line | None:
    """The line above a loop that goes through the same name, which is given nothing else in between."""
    module = loop.file.removesuffix(".py")
    for function in functions(module, sources.get(loop.file, "")).values():
        if not function.lineno <= loop.number <= (function.end_lineno or 0):
            continue
        through: dict[int, set[str]] = {}
        for node in ast.walk(function):
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Name):
                through.setdefault(node.iter.lineno, set()).add(node.iter.id)
        stored = {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        own = through.get(loop.number, set()) - stored
        earlier = [line for line, names in through.items() if line < loop.number and names & own]
        return Line(loop.file, max(earlier), max(earlier)) if earlier else None
    return None
