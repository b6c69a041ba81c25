"""Limits on the search: longer code is not searched but reported to the instructor."""

import ast

BRACES = 10_000  # each may begin an expression in an f-string, which older releases of Python parse separately
# The number of ancestors, summed over all nodes of a module: in a chain of attributes, each attribute is examined once
# per ancestor. Correct programs have fewer than 20,000.
WORK = 500_000


class TooLarge(ValueError):
    """Searching a module would take too long."""


def parsed(text: str) -> tuple[ast.Module, list[int]]:
    """Parse a module; return its syntax tree without statements that are too long, and the lines of those statements.

    Raises:
        TooLarge: if even parsing it would take too long.
        SyntaxError, ValueError, RecursionError, MemoryError: if it cannot be parsed.
    """
    if text.count("{") > BRACES:
        raise TooLarge
    tree = ast.parse(text)
    left, kept, large = WORK, set(), []
    costs = {number: _work(statement) for number, statement in enumerate(tree.body)}
    for number, cost in sorted(costs.items(), key=lambda pair: pair[1]):
        left -= cost
        if left >= 0:
            kept.add(number)
        else:
            large.append(tree.body[number].lineno)
    tree.body = [statement for number, statement in enumerate(tree.body) if number in kept]
    return tree, large


def _work(statement: ast.stmt) -> int:
    """The total number of ancestors of all nodes in a statement; counting stops above the limit."""
    level: list[ast.AST] = [statement]
    work, depth = 0, 1
    while level and work <= WORK:
        work += depth * len(level)
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
    return work
