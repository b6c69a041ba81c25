"""Edits to expressions that might fix a slip: another name, attribute, number, sign, operator, argument or axis."""

import ast
from collections import Counter
from collections.abc import Collection, Iterator

from autograder.localization.edits.attributes import kept_functions, sizes, unused_attributes
from autograder.localization.edits.bound_names import bound_names
from autograder.localization.edits.confusable_operators import (
    ARITHMETIC,
    COMMUTE,
    FAMILIES,
    GATHERING,
    IN_PLACE_OF,
    LOGIC,
    MASKING,
    MERGING,
    ORDER,
    POSITIVE,
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
        idle: modules of the function's object that are never called, so a call to one of them may be missing.
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
        methods = {
            node.func.attr
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        self.splits, self.sorts = not methods.isdisjoint(SPLITTING), not methods.isdisjoint(("sort", "argsort"))
        self.attributes = {
            kind: list(dict.fromkeys([*idle, *(node.attr for node in of_self if (id(node) in called) == kind)]))
            for kind in (True, False)
        }
        stores = [
            node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        ]
        self.made = list(dict.fromkeys(node.attr for node in stores if self._of_self(node)))
        self.sizes = sizes(tree)
        used = {node.attr for node in of_self}
        self.kept = [name for name in kept_functions(tree) if method and name not in used]
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        around = [node.body for node in tree.body if isinstance(node, ast.ClassDef)]
        own_class = next((body for body in around if function.lineno in [statement.lineno for statement in body]), [])
        self.methods = {node.name: node for node in own_class if isinstance(node, ast.FunctionDef)}

    def _of_self(self, node: ast.Attribute) -> bool:
        return isinstance(node.value, ast.Name) and node.value.id == "self"

    def _whole(self, node: ast.expr | ast.stmt, new: str) -> Edit:
        return self.text.place(node, new)

    def _name(self, node: ast.Name) -> Iterator[Edit]:
        if node.id in self.names and id(node) not in self.called:
            for other in self.names:
                if other != node.id and self.bound(other, node):
                    yield self._whole(node, other)
        if (
            node.id in self.functions and node.id not in self.local
        ):  # perhaps the function that the constructor received is meant
            for kept in self.kept:
                yield self._whole(node, f"self.{kept}")

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
        if node.attr == "inf":
            yield self._whole(node, f"(-{self.text.of(node)})")
        if node.attr.endswith("_") and not node.attr.startswith("_"):  # in place
            yield start, end, node.attr.rstrip("_")
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

    def _one_off(self, node: ast.expr) -> Iterator[Edit]:
        """Move the end of a loop or slice by 1, in either direction."""
        for step in ("+ 1", "- 1"):
            yield self._whole(node, f"{self.text.of(node)} {step}")

    def _binary(self, node: ast.BinOp) -> Iterator[Edit]:
        left, right = self.text.of(node.left), self.text.of(node.right)
        likely = TAKEN_FOR.get(type(node.op), ())
        table = ARITHMETIC if type(node.op) in ARITHMETIC else LOGIC
        others = {kind: sign for kind, sign in table.items() if kind is not type(node.op)}
        others = {} if isinstance(node.op, ast.MatMult) else others
        yield from self._other_brackets(node)
        yield from (self._whole(node, f"(({left}) {others[kind]} ({right}))") for kind in likely)
        symbol = "@" if isinstance(node.op, ast.MatMult) else ARITHMETIC.get(type(node.op))
        if symbol and not isinstance(node.op, COMMUTE):
            yield self._whole(node, f"(({right}) {symbol} ({left}))")
        yield from (self._whole(node, f"({operand})") for operand in (left, right))
        for kind, sign in others.items():
            if kind not in likely:
                yield self._whole(node, f"(({left}) {sign} ({right}))")
        if isinstance(node.op, (ast.Mult, ast.Div)):
            yield self._whole(node, f"(-({left}) {symbol} ({right}))")
        if isinstance(node.op, ast.MatMult):
            yield self._whole(node, f"(({left}).transpose(-2, -1) @ ({right}))")
            yield self._whole(node, f"(({left}) @ ({right}).transpose(-2, -1))")

    def _other_brackets(self, node: ast.BinOp) -> Iterator[Edit]:
        """Replace `(a / b) ** c` with `a / (b ** c)`, and vice versa."""
        outer, of, inner = ARITHMETIC.get(type(node.op)), self.text.of, (node.left, node.right)
        for at, operand in enumerate(inner):
            sign = ARITHMETIC.get(type(operand.op)) if isinstance(operand, ast.BinOp) else None
            if isinstance(operand, ast.BinOp) and outer and sign and sign != outer:
                if at == 0:
                    yield self._whole(
                        node, f"(({of(operand.left)}) {sign} (({of(operand.right)}) {outer} ({of(node.right)})))"
                    )
                else:
                    yield self._whole(
                        node, f"((({of(node.left)}) {outer} ({of(operand.left)})) {sign} ({of(operand.right)}))"
                    )

    def completed(self, statement: ast.stmt) -> Iterator[Edit]:
        """Add a name, such as a forgotten divisor, to a statement's sums and products.

        Alternatively, replace an operand with its square root or square.
        """
        for node in (node for node in ast.walk(statement) if isinstance(node, ast.BinOp)):
            for part in (node.left, node.right):
                for power in ("0.5", "2") if isinstance(part, (ast.Name, ast.BinOp)) else ():
                    yield self._whole(part, f"(({self.text.of(part)}) ** {power})")
            for name in self.names:
                for sign in ("/", "*", "-", "+") if self.bound(name, node) else ():
                    yield self._whole(node, f"(({self.text.of(node)}) {sign} {name})")

    def _comparison(self, node: ast.Compare) -> Iterator[Edit]:
        start, end = self.text.end(node.left), self.text.start(node.comparators[0])
        if (symbol := ORDER.get(type(node.ops[0]))) and self.text.source[start:end].count(symbol) == 1:
            for other in ORDER.values():
                if other != symbol:
                    yield start, end, self.text.source[start:end].replace(symbol, other)
            if isinstance(node.comparators[0], ast.Constant):
                for other in ("!=", "=="):
                    yield self._whole(node, f"(({self.text.of(node.left)}) {other} 0)")

    def _bool(self, node: ast.BoolOp) -> Iterator[Edit]:
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield self._whole(node, "(" + word.join(f"({self.text.of(value)})" for value in node.values) + ")")
        for value in node.values:
            yield self._whole(node, f"({self.text.of(value)})")

    def _choice(self, node: ast.IfExp) -> Iterator[Edit]:
        yield from (self._whole(node, f"({self.text.of(branch)})") for branch in (node.body, node.orelse))

    def _handed_on(self, node: ast.Call) -> Iterator[Edit]:
        """If a call omits an optional argument and a variable has the argument's name, pass that variable."""
        called = self.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if isinstance(node.func, ast.Attribute) and self._of_self(node.func):
            called = self.methods.get(node.func.attr)
        given = {keyword.arg for keyword in node.keywords}
        if called is None or None in given or any(isinstance(argument, ast.Starred) for argument in node.args):
            return
        positions = [argument.arg for argument in called.args.args if argument.arg != "self"]
        optional = positions[len(positions) - len(called.args.defaults) :] if called.args.defaults else []
        at = self.text.end(node) - 1
        comma = "" if self.text.source[:at].rstrip().endswith((",", "(")) else ", "
        for name in optional:
            if name not in {*positions[: len(node.args)], *given} and name in self.names and self.bound(name, node):
                yield at, at, f"{comma}{name}={name}"

    def _call(self, node: ast.Call) -> Iterator[Edit]:
        yield from self._handed_on(node)
        text = self.text
        for first, second in zip(node.args, node.args[1:], strict=False):
            between = text.source[text.end(first) : text.start(second)]
            yield text.start(first), text.end(second), text.of(second) + between + text.of(first)
        for number, keyword in enumerate(node.keywords):
            others = [*node.args, *(other.value for other in node.keywords[:number])]
            if keyword.arg and others:
                yield text.end(others[-1]), text.end(keyword.value), ""
        for before, after in zip(node.keywords, node.keywords[1:], strict=False):
            between = text.source[text.end(before.value) : text.start(after.value)]
            yield (
                text.start(before.value),
                text.end(after.value),
                text.of(after.value) + between + text.of(before.value),
            )
        if isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
            yield from self._one_off(node.args[0] if len(node.args) == 1 else node.args[1])
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        for form in IN_PLACE_OF.get(method, ()):
            yield self._whole(node, form.format(text.of(node)))
        if method == "squeeze" and not (node.args or node.keywords):  # if other axes also have size 1
            yield self._whole(node, f"{text.of(node.func)}(-1)")
        if method == "append" and isinstance(node.args[0] if node.args else None, ast.Name):  # a batch of one
            yield self._whole(node.args[0], f"{text.of(node.args[0])}[0]")
        if method in MASKING and node.args:
            yield self._whole(node.args[0], f"~({text.of(node.args[0])}).bool()")
        if method in GATHERING and len(node.args) == 2:  # an order instead of its inverse
            yield self._whole(node.args[1], f"{text.of(node.args[1])}.argsort({text.of(node.args[0])})")
        if isinstance(node.func, ast.Attribute) and not self._is_library(node.func.value):
            if method in SPLITTING:
                yield self._whole(node, f"{text.of(node)}.transpose(1, 2)")
            if method in MERGING:
                yield self._whole(node.func.value, f"{text.of(node.func.value)}.transpose(1, 2).contiguous()")
            if method == "repeat" and len(node.args) > 1:
                yield from self._interleaved(node, text.of(node.func.value))
            if method not in FILLING:  # without it, a loop that waits for the list to fill would be endless
                yield self._whole(node, f"({text.of(node.func.value)})")
        # An iterator would be empty after its first use, and the result might be right by chance.
        alone = len(node.args) == 1 and not node.keywords and method not in FILLING
        if alone and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp)):
            yield self._whole(node, f"({text.of(node.args[0])})")
            if method in POSITIVE:
                yield self._whole(node, f"({text.of(node.args[0])}).exp()")

    def _interleaved(self, node: ast.Call, tensor: str) -> Iterator[Edit]:
        """Replace a `repeat` along a single axis: repeat each element instead of the whole tensor."""
        more = [at for at, size in enumerate(node.args) if not (isinstance(size, ast.Constant) and size.value == 1)]
        if len(more) == 1 and not node.keywords:
            yield self._whole(node, f"{tensor}.repeat_interleave({self.text.of(node.args[more[0]])}, dim={more[0]})")

    def _is_library(self, node: ast.expr) -> bool:
        """Whether the object on which a method is called is not a tensor: `torch`, `F`, `self`, ..."""
        return isinstance(node, ast.Name) and node.id not in self.local

    def _sorted_back(self, statement: ast.stmt) -> Iterator[Edit]:
        """If a statement indexes several tensors with the same order, use the inverse order instead."""
        orders = [node.slice for node in ast.walk(statement) if isinstance(node, ast.Subscript)]
        names = [order for order in orders if isinstance(order, ast.Name)]
        if self.sorts and len(names) > 1 and len({name.id for name in names}) == 1:
            start, new = self.text.start(statement), self.text.of(statement)
            for name in sorted(names, key=self.text.start, reverse=True):
                end = self.text.end(name) - start
                new = f"{new[:end]}.argsort(){new[end:]}"
            yield self._whole(statement, new)

    def _subscript(self, node: ast.Subscript) -> Iterator[Edit]:
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for axis in axes:
            if isinstance(axis, ast.Slice) and axis.step:
                for low in ("", "1"):
                    yield self._whole(axis, f"{low}::{self.text.of(axis.step)}")
            elif isinstance(axis, ast.Slice):
                low = self.text.of(axis.lower) if axis.lower else ""
                high = self.text.of(axis.upper) if axis.upper else ""
                for bound in (axis.lower, axis.upper):
                    if bound and not isinstance(bound, (ast.Constant, ast.UnaryOp)):
                        yield from self._one_off(bound)
                later = f"({low}) + 1:{high}" if low else ""
                for bounds in ("1:", ":-1", "-1:", ":", f"{low}:", f":{high}", f"{high}:{low}", later):
                    if bounds not in ("", f"{low}:{high}"):
                        yield self._whole(axis, bounds)
        texts = [self.text.of(axis) for axis in axes]
        if self.sorts and len(axes) == 1 and isinstance(axes[0], ast.Name):
            yield self._whole(axes[0], f"{texts[0]}.argsort()")
        for at in range(len(axes) - 1):
            if texts[at] != texts[at + 1]:
                yield self._whole(node.slice, ", ".join([*texts[:at], texts[at + 1], texts[at], *texts[at + 2 :]]))
        if isinstance(axes[-1], ast.Slice) and len(axes) == 1:  # a slice of another axis
            yield self._whole(node.slice, f":, {texts[0]}")
        elif isinstance(axes[-1], ast.Slice) and texts[0] == ":" and len(axes) == 2:
            yield self._whole(node.slice, texts[1])
        yield self._whole(node, f"({self.text.of(node.value)})")
