"""Changes with which a `while` may never end: each costs the time in which a call has to answer, and mends nothing."""

import ast
from typing import TypeGuard

from autograder.grading.constant_conditions import changed_in, names_in
from autograder.submissions.small_changes import SmallChange
from autograder.submissions.syntax_tree import Offsets, parse

LONGEST = 400  # characters of a condition that is looked at


def is_endless(loop: ast.While, change: SmallChange, text: Offsets) -> bool:
    """Whether a change takes from the condition of a loop what counts its rounds, such as `len(tokens) < most`."""
    first, last, end = text.start(loop.test), text.end(loop.test), change.end
    if not (first <= change.start and end <= last):
        return False
    if last - first > LONGEST:  # each of its changes would be parsed
        return True
    sizes = [one for one in ast.walk(loop.test) if _counts(one)]
    counters = changed_in(loop) & {name for one in sizes for name in names_in(one)}
    new = text.source[first : change.start] + change.text + text.source[end:last]
    try:
        [condition] = parse(f"({new})").body
    except SyntaxError:  # it is none that could run
        return False
    return _ends(loop.test, counters) and isinstance(condition, ast.Expr) and not _ends(condition.value, counters)


def _counts(test: ast.AST) -> TypeGuard[ast.Compare]:
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))


def _ends(test: ast.expr, counters: set[str]) -> bool:
    """Whether a condition holds for so many rounds only."""
    if isinstance(test, ast.BoolOp):
        parts = [_ends(one, counters) for one in test.values]
        return any(parts) if isinstance(test.op, ast.And) else all(parts)
    return _counts(test) and not counters.isdisjoint(names_in(test))
