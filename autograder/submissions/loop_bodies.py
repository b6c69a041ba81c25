"""Whether the block of a loop makes something in each round."""

import ast


def makes_something(body: list[ast.stmt]) -> bool:
    """Whether the block of a loop makes something, and cannot be left before that."""
    leaving = (ast.Break, ast.Continue, ast.Return)
    for number, statement in enumerate(body):
        if isinstance(statement, ast.If) and any(isinstance(one, leaving) for one in ast.walk(statement)):
            return _makes(body[:number])
    return _makes(body)


def _makes(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Call)) for one in body for node in ast.walk(one)
    )
