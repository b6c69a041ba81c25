"""Edits to expressions that might fix a slip: another name, attribute, number, sign, operator, argument or axis."""

import ast
from collections import Counter
from collections.abc import Collection, Iterator

from autograder.localization.edits.attributes import sizes, unused_attributes
from autograder.localization.edits.bound_names import bound_names
from autograder.localization.edits.confusable_operators import (
    ARITHMETIC,
    COMMUTE,
    FAMILIES,
    LOGIC,
    MASKING,
    ORDER,
    SPLITTING,
    TAKEN_FOR,
)
from autograder.submissions.syntax_tree import Offsets

FILLING = ("append", "extend", "insert")
Edit = tuple[int, int, str]  # start, end, replacement text


class ExpressionEdits:
    """The edits to a function's expressions.

    Args:
        function: its node in `tree`.
        idle: modules of the function's object that are never called: a call to one of them may be missing.
    """

    def __init__(self, text: Offsets, function: ast.FunctionDef, tree: ast.Module, idle: Collection[str]) -> None:
        self.text = text
        idle = sorted({*unused_attributes(tree), *idle})
        method = any(argument.arg == "self" for argument in function.args.args)
        self.idle = [name for name in idle if method and f"self.{name}" in text.source]
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        arguments = [
            argument.arg for argument in (*function.args.args, *function.args.kwonlyargs) if argument.arg != "self"
        ]
        # If a wrong name was written, the right one is read less often than it should be.
        read = Counter(node.id for node in names if isinstance(node.ctx, ast.Load))
        own_names = dict.fromkeys([*arguments, *(node.id for node in names if isinstance(node.ctx, ast.Store))])
        self.names = sorted(own_names, key=lambda name: read[name])
        self.local = {*self.names, *(node.arg for node in ast.walk(function) if isinstance(node, ast.arg))}
        self.bound = bound_names(function)
        called = {id(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
        of_self = [node for node in ast.walk(function) if isinstance(node, ast.Attribute) and self._of_self(node)]
        self.called = called
        self.attributes = {
            kind: list(dict.fromkeys([*idle, *(node.attr for node in of_self if (id(node) in called) == kind)]))
            for kind in (True, False)
        }
        stores = [
            node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        ]
        self.made = list(dict.fromkeys(node.attr for node in stores if self._of_self(node)))
        self.sizes = sizes(tree)

    def _of_self(self, node: ast.Attribute) -> bool:
        return isinstance(node.value, ast.Name) and node.value.id == "self"

    def _whole(self, node: ast.expr | ast.stmt, new: str) -> Edit:
        return self.text.place(node, new)

    def _name(self, node: ast.Name) -> Iterator[Edit]:
        if node.id in self.names and id(node) not in self.called:
            for other in self.names:
                if other != node.id and self.bound(other, node):
                    yield self._whole(node, other)

    def _through(self, node: ast.expr) -> Iterator[Edit]:
        """Pass a value through a module that is never called."""
        if not isinstance(getattr(node, "ctx", None), ast.Store):
            for name in self.idle:
                yield self._whole(node, f"self.{name}({self.text.of(node)})")

    def _attribute(self, node: ast.Attribute) -> Iterator[Edit]:
        end = self.text.end(node)
        start = end - len(node.attr)
        if self._of_self(node):
            # `self.sos_idx` for `self.eos_idx`, even if the function does not use it.
            same_suffix = [
                name for name in self.made if "_" in name and name.rpartition("_")[2] == node.attr.rpartition("_")[2]
            ]
            like = (
                [*same_suffix, *(self.sizes if node.attr in self.sizes else ())] if id(node) not in self.called else []
            )
            for other in dict.fromkeys([*like, *self.attributes[id(node) in self.called]]):
                if other != node.attr:
                    yield start, end, other
        for other in (member for family in FAMILIES if node.attr in family for member in family if member != node.attr):
            yield start, end, other

    def _constant(self, node: ast.Constant) -> Iterator[Edit]:
        value = node.value
        if isinstance(value, bool):
            yield self._whole(node, str(not value))
        elif isinstance(value, (int, float)):
            for other in (value + 1, value - 1, -value, value + 2, value - 2, value * 2, value / 2):
                if other != value:
                    number = int(other) if isinstance(value, int) and other == int(other) else other
                    yield self._whole(node, f"{number}" if number >= 0 else f"({number})")

    def _unary(self, node: ast.UnaryOp) -> Iterator[Edit]:
        yield self._whole(node, f"({self.text.of(node.operand)})")

    def _binary(self, node: ast.BinOp) -> Iterator[Edit]:
        left, right = self.text.of(node.left), self.text.of(node.right)
        likely = TAKEN_FOR.get(type(node.op), ())
        table = ARITHMETIC if type(node.op) in ARITHMETIC else LOGIC
        others = {kind: sign for kind, sign in table.items() if kind is not type(node.op)}
        others = {} if isinstance(node.op, ast.MatMult) else others
        yield from (self._whole(node, f"(({left}) {others[kind]} ({right}))") for kind in likely)
        symbol = "@" if isinstance(node.op, ast.MatMult) else ARITHMETIC.get(type(node.op))
        if symbol and not isinstance(node.op, COMMUTE):
            yield self._whole(node, f"(({right}) {symbol} ({left}))")
        yield from (self._whole(node, f"({operand})") for operand in (left, right))
        for kind, sign in others.items():
            if kind not in likely:
                yield self._whole(node, f"(({left}) {sign} ({right}))")

    def _comparison(self, node: ast.Compare) -> Iterator[Edit]:
        start, end = self.text.end(node.left), self.text.start(node.comparators[0])
        if (symbol := ORDER.get(type(node.ops[0]))) and self.text.source[start:end].count(symbol) == 1:
            for other in ORDER.values():
                if other != symbol:
                    yield start, end, self.text.source[start:end].replace(symbol, other)
            if isinstance(node.comparators[0], ast.Constant):
                for other in ("!=", "=="):
                    yield self._whole(node, f"(({self.text.of(node.left)}) {other} 0)")

    def _choice(self, node: ast.IfExp) -> Iterator[Edit]:
        yield from (self._whole(node, f"({self.text.of(branch)})") for branch in (node.body, node.orelse))

    def _call(self, node: ast.Call) -> Iterator[Edit]:
        text = self.text
        for first, second in zip(node.args, node.args[1:], strict=False):
            between = text.source[text.end(first) : text.start(second)]
            yield text.start(first), text.end(second), text.of(second) + between + text.of(first)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method in MASKING and node.args:
            yield self._whole(node.args[0], f"~({text.of(node.args[0])}).bool()")
        if isinstance(node.func, ast.Attribute) and not self._is_library(node.func.value):
            if method in SPLITTING:
                yield self._whole(node, f"{text.of(node)}.transpose(1, 2)")
            if method not in FILLING:  # without it, a loop that waits for the list to fill would be endless
                yield self._whole(node, f"({text.of(node.func.value)})")
        # An iterator would be empty after its first use, and the result might be right by chance.
        alone = len(node.args) == 1 and not node.keywords and method not in FILLING
        if alone and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp)):
            yield self._whole(node, f"({text.of(node.args[0])})")

    def _is_library(self, node: ast.expr) -> bool:
        """Whether the object on which a method is called is not a tensor: `torch`, `F`, `self`, ..."""
        return isinstance(node, ast.Name) and node.id not in self.local

    def _subscript(self, node: ast.Subscript) -> Iterator[Edit]:
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for axis in axes:
            if isinstance(axis, ast.Slice) and axis.step:
                for low in ("", "1"):
                    yield self._whole(axis, f"{low}::{self.text.of(axis.step)}")
            elif isinstance(axis, ast.Slice):
                low = self.text.of(axis.lower) if axis.lower else ""
                high = self.text.of(axis.upper) if axis.upper else ""
                later = f"({low}) + 1:{high}" if low else ""
                for bounds in ("1:", ":-1", "-1:", ":", f"{low}:", f":{high}", f"{high}:{low}", later):
                    if bounds not in ("", f"{low}:{high}"):
                        yield self._whole(axis, bounds)
        texts = [self.text.of(axis) for axis in axes]
        for at in range(len(axes) - 1):
            if texts[at] != texts[at + 1]:
                yield self._whole(node.slice, ", ".join([*texts[:at], texts[at + 1], texts[at], *texts[at + 2 :]]))
