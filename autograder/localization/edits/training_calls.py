"""Calls missing from a training step: clearing the gradients, computing them, using them."""

import ast
from collections.abc import Iterator

from autograder.submissions.syntax_tree import Offsets, statements

FORGET, COMPUTE, USE = "zero_grad", "backward", "step"


def training_calls(function: ast.FunctionDef, text: Offsets) -> Iterator[tuple[ast.stmt, str]]:
    """Calls that may be missing, each with the statement that should follow it.

    If at least one of `optimizer.zero_grad()`, `loss.backward()` and `optimizer.step()` is present, the others are
    candidates.
    """
    calls: dict[str, tuple[ast.stmt, ast.Attribute]] = {}
    every = list(statements(function.body))
    for statement in every:
        called = (
            statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
        )
        if isinstance(called, ast.Attribute) and called.attr in (FORGET, COMPUTE, USE):
            calls.setdefault(called.attr, (statement, called))
    named = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    if not calls or not named & {FORGET, USE}:
        return
    last = every[-1]
    if FORGET not in named and USE in calls:
        place, _ = calls.get(COMPUTE, calls[USE])
        yield place, f"{text.of(calls[USE][1].value)}.{FORGET}()"
    if USE not in named and FORGET in calls:
        yield last, f"{text.of(calls[FORGET][1].value)}.{USE}()"
    if COMPUTE not in named:
        assignments = [
            assignment
            for assignment in every
            if isinstance(assignment, ast.Assign) and isinstance(assignment.value, ast.Call)
        ]
        for assignment in reversed(assignments):
            later = [other for other in function.body if other.lineno > (assignment.end_lineno or assignment.lineno)]
            first = next((other for other in later if other is not calls.get(FORGET, (None,))[0]), None)
            if first and isinstance(assignment.targets[0], ast.Name):
                yield first, f"{assignment.targets[0].id}.{COMPUTE}()"
