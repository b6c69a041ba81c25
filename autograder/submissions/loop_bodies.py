"""Whether the block of a loop makes something in each round, as far as that is seen when it runs."""

import ast

COLLECTS = ("append", "add", "insert")


def makes_something(body: list[ast.stmt]) -> bool:
    """Whether the block of a loop makes something, and cannot be left before that."""
    leaving = (ast.Break, ast.Continue, ast.Return)
    for number, statement in enumerate(body):
        if isinstance(statement, ast.If) and any(isinstance(one, leaving) for one in ast.walk(statement)):
            return _makes(body[:number])
    return _makes(body)


def _makes(body: list[ast.stmt]) -> bool:
    """Whether statements compute something: that a name is put into a list, or gets another one, is not seen."""
    return any(
        isinstance(node, (ast.BinOp, ast.Compare, ast.Subscript, ast.AugAssign))
        or (isinstance(node, ast.Call) and not (isinstance(node.func, ast.Attribute) and node.func.attr in COLLECTS))
        for one in body
        for node in ast.walk(one)
    )
