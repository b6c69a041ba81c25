"""Small changes to a function that might fix a slip: another name, axis, sign, operator or argument.

Mutation testing uses such changes to evaluate a test suite. Here, they help to find the faulty statement, as in "Ask
the Mutants" (Moon, Kim, Kim, Yoo 2014): if a change fixes a failing call, the changed statement is suspicious.
"""

import ast
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeGuard

from autograder.localization.edits.expressions import Edit, ExpressionEdits
from autograder.submissions.syntax_tree import Offsets, statements, tree_of


class Place(NamedTuple):
    """The position of a function in its module's source."""

    head: str  # the code compiled before it: empty lines, and the head of its class
    source: str
    begin: int
    end: int

    def changed(self, start: int, end: int, text: str) -> str:
        """Return only the function's code, with part of it replaced by `text`."""
        return f"{self.head}{self.source[self.begin : start]}{text}{self.source[end : self.end]}"


# "name" replaces one name with another.
Kind = Literal["expression", "name"]


@dataclass(frozen=True, slots=True)
class SmallChange:
    """A replacement for part of a module's source."""

    module: str
    path: str  # "Class.method" or "function"
    line: int  # the first line of the statement
    start: int  # offsets in the source of the module
    end: int
    text: str
    function: "Place"
    kind: Kind = "expression"

    @property
    def unit(self) -> str:
        """The code to compile: only the changed function, with its original line numbers."""
        return self.function.changed(self.start, self.end, self.text)

    def apply(self, source: str) -> str:
        """The changed source of the module."""
        return source[: self.start] + self.text + source[self.end :]


def small_changes(
    module: str, source: str, path: str, function: ast.FunctionDef, idle: Collection[str] = ()
) -> Iterator[SmallChange]:
    """All small changes to a function, statement by statement.

    Args:
        path: "Class.method" or "function".
        function: its node in the tree of `source`.
        idle: modules of the function's object that are never called: a call to one of them may be missing.
    """
    text = Offsets(source)
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    begin, end = text.starts[first - 1], text.end(function)
    owner = path.rpartition(".")[0]
    head = "\n" * (first - 2) + f"class {owner}:\n" if owner else "\n" * (first - 1)
    whole = Place(head, source, begin, end)
    editor, seen = _Edits(text, function, tree_of(source), idle), set[int]()
    for statement in statements(function.body):
        for start, stop, new in () if editor.is_step(statement) else editor.of_statement(statement):
            if new != source[start:stop] and (unit := hash(whole.changed(start, stop, new))) not in seen:
                seen.add(unit)
                kind: Kind = "name" if new in editor.names else "expression"
                yield SmallChange(module, path, statement.lineno, start, stop, new, whole, kind)


class _Edits(ExpressionEdits):
    def __init__(self, text: Offsets, function: ast.FunctionDef, tree: ast.Module, idle: Collection[str]) -> None:
        super().__init__(text, function, tree, idle)
        self.loops, self.again = (
            {
                id(statement)
                for node in ast.walk(function)
                if isinstance(node, kinds)
                for statement in statements(node.body)
            }
            for kinds in (ast.While, (ast.While, ast.For))
        )
        left = [node.test for node in statements(function.body) if isinstance(node, ast.While) or self._leaves(node)]
        self.leaving = {name.id for test in left for name in ast.walk(test) if isinstance(name, ast.Name)}

    def is_step(self, node: ast.stmt) -> bool:
        """Whether a statement advances the counter of a `while` loop; changing it could make the loop endless."""
        counter = node.target if isinstance(node, ast.AugAssign) and id(node) in self.loops else None
        return isinstance(counter, ast.Name) and counter.id in self.leaving

    def _leaves(self, node: ast.stmt) -> TypeGuard[ast.If]:
        last = node.body[-1] if isinstance(node, ast.If) and id(node) in self.again else None
        return isinstance(last, (ast.Break, ast.Return))

    def of_statement(self, statement: ast.stmt) -> Iterator[Edit]:
        makers: dict[type, Callable[..., Iterator[Edit]]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Constant: self._constant,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.Compare: self._comparison,
            ast.Call: self._call,
            ast.Subscript: self._subscript,
            ast.IfExp: self._choice,
        }
        type_hint = getattr(statement, "annotation", None)
        parts = [child for child in ast.iter_child_nodes(statement) if child is not type_hint]
        waiting: list[ast.AST] = [part for part in parts if isinstance(part, (ast.expr, ast.keyword))]
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, (ast.JoinedStr, ast.Lambda)):
                continue
            waiting += ast.iter_child_nodes(node)
            if (make := makers.get(type(node))) and not isinstance(getattr(node, "ctx", None), ast.Store):
                yield from make(node)
            if isinstance(node, (ast.Name, ast.Call, ast.BinOp)) and id(node) not in self.called:
                yield from self._through(node)
        yield from self._of_whole(statement)

    def _of_whole(self, node: ast.stmt) -> Iterator[Edit]:
        # Without the step of its counter, a `while` loop would be endless.
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and id(node) not in self.loops:
            yield self._whole(node, "pass" + "\n" * self.text.of(node).count("\n"))
        if isinstance(node, ast.Assign) and id(node) in self.again and self._is_new(node):
            # Accumulated over all iterations.
            operators = ("|=", "&=") if isinstance(node.value, ast.Compare) else ("+=",)
            for operator in operators:
                yield self.text.end(node.targets[0]), self.text.start(node.value), f" {operator} "

    def _is_new(self, node: ast.Assign) -> bool:
        """Whether a statement assigns a name without using the name's old value."""
        used = {node.id for node in ast.walk(node.value) if isinstance(node, ast.Name)}
        return isinstance(node.targets[0], ast.Name) and node.targets[0].id not in used
