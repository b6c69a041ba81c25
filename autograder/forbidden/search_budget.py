"""How much text the search looks through: what takes it longer is not searched, and told to a person."""

import ast

BRACES = 10_000  # each may begin an expression in a text, for which older releases of Python parse anew
# Of all nodes of a module, how many others each is in: an attribute of an attribute is looked at once for each. That of
# correct programs is below 20,000.
WORK = 500_000


class TooLarge(ValueError):
    """A text would take too long."""


def parsed(text: str) -> tuple[ast.Module, list[int]]:
    """The syntax tree of a module without the statements that would take too long, and the lines of these.

    Raises:
        TooLarge: if even parsing it would take too long.
        SyntaxError, ValueError, RecursionError, MemoryError: if it cannot be parsed.
    """
    if text.count("{") > BRACES:
        raise TooLarge
    tree = ast.parse(text)
    left, kept, large = WORK, set(), []
    costs = {number: _work(statement) for number, statement in enumerate(tree.body)}
    for number, cost in sorted(costs.items(), key=lambda one: one[1]):
        left -= cost
        if left >= 0:
            kept.add(number)
        else:
            large.append(tree.body[number].lineno)
    tree.body = [statement for number, statement in enumerate(tree.body) if number in kept]
    return tree, large


def _work(statement: ast.stmt) -> int:
    """Of all nodes of a statement, how many others each is in; no more than what is too much."""
    level: list[ast.AST] = [statement]
    work, depth = 0, 1
    while level and work <= WORK:
        work += depth * len(level)
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
    return work
