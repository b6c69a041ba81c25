"""Moves of statements (two swapped, one indented or dedented), and changed loop exits."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from autograder.submissions.syntax_tree import Offsets

LONGEST = 8  # at most this many lines are swapped
BLOCKS = (ast.If, ast.For, ast.While, ast.With)
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)


class Move(NamedTuple):
    """A replacement for part of a module's source."""

    line: int  # the first line of the statement
    start: int
    end: int
    text: str
    steers: bool = False  # whether it changes the exit of a loop, or the order of the loop's statements
    other: int = 0  # the line of the other statement, if two are swapped; else the line of the loop
    renews: bool = False  # whether something created once before a loop is created anew in each iteration


def moves(body: list[ast.stmt], text: Offsets, loop: type[ast.For] | type[ast.While] | None = None) -> Iterator[Move]:
    """All moves within a block and its inner blocks, except those that might make a `while` loop endless.

    Args:
        loop: the kind of the innermost loop around the block.
    """
    for node in body:
        at = text.start(node)
        if isinstance(node, ast.If) and text.source.startswith("elif", at):  # it should be checked in any case
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
        if _can_swap(first, second) and (second.end_lineno or 0) - first.lineno < LONGEST:
            between = text.source[text.end(first) : text.start(second)]
            new = text.of(second) + between + text.of(first)
            yield Move(first.lineno, text.start(first), text.end(second), new, loop is not None, second.lineno)


def _has_else(node: ast.stmt) -> bool:
    """Whether an `else` or `elif` follows a block."""
    return bool(getattr(node, "orelse", []))


def _further(statement: ast.stmt, like: ast.stmt, text: Offsets) -> Iterator[Move]:
    """Re-indent a statement to match another one, if each is the first on its line."""
    start, line = text.start(statement), text.starts[statement.lineno - 1]
    other = text.starts[like.lineno - 1]
    indent, wanted = text.source[line:start], text.source[other : text.start(like)]
    if isinstance(statement, (*SIMPLE, ast.Return)) and not indent.strip() and not wanted.strip() and indent != wanted:
        yield Move(statement.lineno, line, start, wanted)


def _renewed(before: list[ast.stmt], loop: ast.For, after: list[ast.stmt], text: Offsets) -> Iterator[Move]:
    """Move statements that precede a loop to the start of its body.

    They create a mask, list or counter that only the loop fills. Perhaps each iteration should start with an empty one.
    """
    changed, begin = _changed(loop), text.start(loop.body[0])
    indent = text.source[text.starts[loop.body[0].lineno - 1] : begin]
    elsewhere = {node.id for other in (*after, loop.iter) for node in ast.walk(other) if isinstance(node, ast.Name)}
    renewed = []
    for node in reversed(before):
        names = [name for name in ast.walk(node) if isinstance(name, ast.Name)]
        made = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        begins = isinstance(node, (ast.Assign, ast.AnnAssign)) and made and made <= changed - elsewhere
        if begins and not indent.strip():
            between = text.source[text.end(node) : begin]
            new = f"pass{between}{text.of(node)}\n{indent}"
            renewed.append(Move(node.lineno, text.start(node), begin, new, other=loop.lineno, renews=True))
        elsewhere |= {name.id for name in names}
    yield from reversed(renewed)


def _changed(loop: ast.For) -> set[str]:
    """The names that the statements of a loop assign or change."""
    names = set()
    for node in (node for statement in loop.body for node in ast.walk(statement)):
        if isinstance(node, (ast.Name, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else getattr(node.value, "id", ""))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # such as `counts.update(...)`
            names.add(getattr(getattr(node.value.func, "value", None), "id", ""))
    return names


def _can_swap(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two statements may be swapped: the second does not need a name that the first assigns."""
    if not all(isinstance(statement, (*SIMPLE, *BLOCKS)) for statement in (first, second)) or _is_text(first):
        return False
    names = [node for node in ast.walk(first) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    new = {node.id for node in names if isinstance(node.ctx, ast.Store)} - used
    needed = {node.id for node in ast.walk(second) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return isinstance(first, BLOCKS) or not new & needed


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
