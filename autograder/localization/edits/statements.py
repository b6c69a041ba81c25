"""Small changes of where statements stand: two in the other order, one further in or out; and of how a loop is left."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from autograder.submissions.syntax_tree import Offsets

LONGEST = 8  # lines of statements that are exchanged
BLOCKS = (ast.If, ast.For, ast.While, ast.With)
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)


class Move(NamedTuple):
    """A piece of a module's text that gives way to another one."""

    line: int  # the first line of the statement
    start: int
    end: int
    text: str
    steers: bool = False  # whether it changes when a loop is left, or the order of its statements
    other: int = 0  # the line of the other statement, if two are exchanged; that of the loop
    renews: bool = False  # whether something begins anew in each round of a loop, that begins once before it


def moves(body: list[ast.stmt], text: Offsets, loop: type[ast.For] | type[ast.While] | None = None) -> Iterator[Move]:
    """All moves in a block, and in the blocks inside it; none that might let a `while` run for ever.

    Args:
        loop: the kind of the innermost loop around the block.
    """
    for node in body:
        at = text.start(node)
        if isinstance(node, ast.If) and text.source.startswith("elif", at):  # what should be asked in any case
            yield Move(node.lineno, at, at + 4, "if")
        if (loop and isinstance(node, (ast.Return, ast.Continue))) or (loop is ast.For and isinstance(node, ast.Break)):
            word = "continue" if isinstance(node, ast.Break) else "break"
            yield Move(node.lineno, at, text.end(node), word + "\n" * text.of(node).count("\n"), steers=True)
        if (
            isinstance(node, BLOCKS)
            and not _has_else(node)
            and len(node.body) > 1
            and ast.While not in (loop, type(node))
        ):
            yield from _further(node.body[-1], node, text)
        inner: type[ast.For] | type[ast.While] | None = loop
        if isinstance(node, (ast.For, ast.While)):
            inner = type(node)
        for name in ("body", "orelse", "finalbody"):
            yield from moves(getattr(node, name, []), text, inner)
    for at, node in enumerate(body):
        if isinstance(node, ast.For):
            yield from _renewed(body[:at], node, body[at + 1 :], text)
    for first, second in pairwise(body):
        if isinstance(first, BLOCKS) and not _has_else(first):
            yield from _further(second, first.body[0], text)
        if _can_change(first, second) and (second.end_lineno or 0) - first.lineno < LONGEST:
            between = text.source[text.end(first) : text.start(second)]
            new = text.of(second) + between + text.of(first)
            yield Move(first.lineno, text.start(first), text.end(second), new, loop is not None, second.lineno)


def _has_else(node: ast.stmt) -> bool:
    """Whether a block has an `else` or `elif` behind it."""
    return bool(getattr(node, "orelse", []))


def _further(statement: ast.stmt, like: ast.stmt, text: Offsets) -> Iterator[Move]:
    """A statement on lines of its own, as far to the right as another one."""
    start, line = text.start(statement), text.starts[statement.lineno - 1]
    other = text.starts[like.lineno - 1]
    indent, wanted = text.source[line:start], text.source[other : text.start(like)]
    if isinstance(statement, (*SIMPLE, ast.Return)) and not indent.strip() and not wanted.strip() and indent != wanted:
        yield Move(statement.lineno, line, start, wanted)


def _renewed(before: list[ast.stmt], loop: ast.For, after: list[ast.stmt], text: Offsets) -> Iterator[Move]:
    """The statements before a loop that begin something which changes in there and is used nowhere else, moved to its
    beginning: a mask, a list or counters that every round fills, and that should be empty again."""
    changed, begin = _changed(loop), text.start(loop.body[0])
    indent = text.source[text.starts[loop.body[0].lineno - 1] : begin]
    elsewhere = {one.id for other in (*after, loop.iter) for one in ast.walk(other) if isinstance(one, ast.Name)}
    found = []
    for node in reversed(before):
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
        made = {one.id for one in names if isinstance(one.ctx, ast.Store)}
        begins = isinstance(node, (ast.Assign, ast.AnnAssign)) and made and made <= changed - elsewhere
        if begins and not indent.strip():
            between = text.source[text.end(node) : begin]
            new = f"pass{between}{text.of(node)}\n{indent}"
            found.append(Move(node.lineno, text.start(node), begin, new, other=loop.lineno, renews=True))
        elsewhere |= {one.id for one in names}
    yield from reversed(found)


def _changed(loop: ast.For) -> set[str]:
    """The names of what the statements of a loop change or give a new value."""
    found = set()
    for node in (one for statement in loop.body for one in ast.walk(statement)):
        if isinstance(node, (ast.Name, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else getattr(node.value, "id", ""))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # as `counts.update(...)`
            found.add(getattr(getattr(node.value.func, "value", None), "id", ""))
    return found


def _can_change(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two statements may be exchanged: the second does not need what the first gives a new name to."""
    if not all(isinstance(one, (*SIMPLE, *BLOCKS)) for one in (first, second)) or _is_text(first):
        return False
    names = [node for node in ast.walk(first) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    new = {node.id for node in names if isinstance(node.ctx, ast.Store)} - used
    needed = {node.id for node in ast.walk(second) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return isinstance(first, BLOCKS) or not new & needed


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
