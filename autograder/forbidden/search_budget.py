"""How much text the search looks through: what takes it longer is not searched, and told to a person."""

import ast

BRACES = 10_000  # each may begin an expression in a text, for which older releases of Python parse anew
# Of all nodes of a module, how many others each is in: an attribute of an attribute is looked at once for each. That of
# correct programs is below 20,000.
WORK = 500_000


class TooLarge(ValueError):
    """A text would take too long."""


def parsed(text: str) -> ast.Module:
    """The syntax tree of a module.

    Raises:
        TooLarge: if searching it would take too long.
        SyntaxError, ValueError, RecursionError, MemoryError: if it cannot be parsed.
    """
    if text.count("{") > BRACES:
        raise TooLarge
    tree = ast.parse(text)
    level: list[ast.AST] = [tree]
    work = depth = 0
    while level:
        work += depth * len(level)
        if work > WORK:
            raise TooLarge
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
    return tree
