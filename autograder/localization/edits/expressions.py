"""Edits of expressions that may mend a slip: another name, attribute, number, sign, operator, argument or axis."""

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
Edit = tuple[int, int, str]  # from, to, the text in its place


class ExpressionEdits:
    """The edits of the expressions of a function.

    Args:
        function: its node in `tree`.
        idle: modules of its object that are never called, so that a call of one may be missing.
    """

    def __init__(self, text: Offsets, function: ast.FunctionDef, tree: ast.Module, idle: Collection[str]) -> None:
        self.text = text
        idle = sorted({*unused_attributes(tree), *idle})
        method = any(one.arg == "self" for one in function.args.args)
        self.idle = [name for name in idle if method and f"self.{name}" in text.source]
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        arguments = [one.arg for one in (*function.args.args, *function.args.kwonlyargs) if one.arg != "self"]
        # A name that is meant where another one stands is read less often than it should be.
        read = Counter(one.id for one in names if isinstance(one.ctx, ast.Load))
        own_names = dict.fromkeys([*arguments, *(one.id for one in names if isinstance(one.ctx, ast.Store))])
        self.names = sorted(own_names, key=lambda name: read[name])
        self.local = {*self.names, *(one.arg for one in ast.walk(function) if isinstance(one, ast.arg))}
        self.bound = bound_names(function)
        called = {id(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
        own = [node for node in ast.walk(function) if isinstance(node, ast.Attribute) and self._of_self(node)]
        self.called = called
        methods = {
            node.func.attr
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        self.splits, self.sorts = not methods.isdisjoint(SPLITTING), not methods.isdisjoint(("sort", "argsort"))
        self.attributes = {
            kind: list(dict.fromkeys([*idle, *(node.attr for node in own if (id(node) in called) == kind)]))
            for kind in (True, False)
        }
        makes = [one for one in ast.walk(tree) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)]
        self.made = list(dict.fromkeys(one.attr for one in makes if self._of_self(one)))
        self.sizes = sizes(tree)
        used = {node.attr for node in own}
        self.kept = [name for name in kept_functions(tree) if method and name not in used]
        self.functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        around = [one.body for one in tree.body if isinstance(one, ast.ClassDef)]
        own_class = next((body for body in around if function.lineno in [one.lineno for one in body]), [])
        self.methods = {one.name: one for one in own_class if isinstance(one, ast.FunctionDef)}

    def _of_self(self, node: ast.Attribute) -> bool:
        return isinstance(node.value, ast.Name) and node.value.id == "self"

    def _whole(self, node: ast.expr | ast.stmt, new: str) -> Edit:
        return self.text.place(node, new)

    def _name(self, node: ast.Name) -> Iterator[Edit]:
        if node.id in self.names and id(node) not in self.called:
            for other in self.names:
                if other != node.id and self.bound(other, node):
                    yield self._whole(node, other)
        if node.id in self.functions and node.id not in self.local:  # one that the constructor was given is meant
            for kept in self.kept:
                yield self._whole(node, f"self.{kept}")

    def _through(self, node: ast.expr) -> Iterator[Edit]:
        """What goes on through a module that is never called."""
        if not isinstance(getattr(node, "ctx", None), ast.Store):
            for name in self.idle:
                yield self._whole(node, f"self.{name}({self.text.of(node)})")

    def _attribute(self, node: ast.Attribute) -> Iterator[Edit]:
        end = self.text.end(node)
        start = end - len(node.attr)
        if self._of_self(node):
            # `self.sos_idx` for `self.eos_idx`, whatever else the function uses.
            kin = [one for one in self.made if "_" in one and one.rpartition("_")[2] == node.attr.rpartition("_")[2]]
            like = [*kin, *(self.sizes if node.attr in self.sizes else ())] if id(node) not in self.called else []
            for other in dict.fromkeys([*like, *self.attributes[id(node) in self.called]]):
                if other != node.attr:
                    yield start, end, other
        if node.attr == "inf":
            yield self._whole(node, f"(-{self.text.of(node)})")
        if node.attr.endswith("_") and not node.attr.startswith("_"):  # in place
            yield start, end, node.attr.rstrip("_")
        for other in (one for family in FAMILIES if node.attr in family for one in family if one != node.attr):
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
        """The end of a loop, or of a slice, one further or one less."""
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
        own = "@" if isinstance(node.op, ast.MatMult) else ARITHMETIC.get(type(node.op))
        if own and not isinstance(node.op, COMMUTE):
            yield self._whole(node, f"(({right}) {own} ({left}))")
        yield from (self._whole(node, f"({one})") for one in (left, right))
        for kind, sign in others.items():
            if kind not in likely:
                yield self._whole(node, f"(({left}) {sign} ({right}))")
        if isinstance(node.op, (ast.Mult, ast.Div)):
            yield self._whole(node, f"(-({left}) {own} ({right}))")
        if isinstance(node.op, ast.MatMult):
            yield self._whole(node, f"(({left}).transpose(-2, -1) @ ({right}))")
            yield self._whole(node, f"(({left}) @ ({right}).transpose(-2, -1))")

    def _other_brackets(self, node: ast.BinOp) -> Iterator[Edit]:
        """`a / (b ** c)` for `(a / b) ** c`, and the other way round."""
        own, of, inner = ARITHMETIC.get(type(node.op)), self.text.of, (node.left, node.right)
        for at, one in enumerate(inner):
            sign = ARITHMETIC.get(type(one.op)) if isinstance(one, ast.BinOp) else None
            if isinstance(one, ast.BinOp) and own and sign and sign != own:
                if at == 0:
                    yield self._whole(node, f"(({of(one.left)}) {sign} (({of(one.right)}) {own} ({of(node.right)})))")
                else:
                    yield self._whole(node, f"((({of(node.left)}) {own} ({of(one.left)})) {sign} ({of(one.right)}))")

    def completed(self, statement: ast.stmt) -> Iterator[Edit]:
        """The sums and products of a statement with one name more, such as a divisor that was forgotten; or with the
        root or the square of what stands in them."""
        for node in (one for one in ast.walk(statement) if isinstance(one, ast.BinOp)):
            for part in (node.left, node.right):
                for power in ("0.5", "2") if isinstance(part, (ast.Name, ast.BinOp)) else ():
                    yield self._whole(part, f"(({self.text.of(part)}) ** {power})")
            for name in self.names:
                for sign in ("/", "*", "-", "+") if self.bound(name, node) else ():
                    yield self._whole(node, f"(({self.text.of(node)}) {sign} {name})")

    def _comparison(self, node: ast.Compare) -> Iterator[Edit]:
        start, end = self.text.end(node.left), self.text.start(node.comparators[0])
        if (own := ORDER.get(type(node.ops[0]))) and self.text.source[start:end].count(own) == 1:
            for other in ORDER.values():
                if other != own:
                    yield start, end, self.text.source[start:end].replace(own, other)
            if isinstance(node.comparators[0], ast.Constant):
                for other in ("!=", "=="):
                    yield self._whole(node, f"(({self.text.of(node.left)}) {other} 0)")

    def _bool(self, node: ast.BoolOp) -> Iterator[Edit]:
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield self._whole(node, "(" + word.join(f"({self.text.of(one)})" for one in node.values) + ")")
        for one in node.values:
            yield self._whole(node, f"({self.text.of(one)})")

    def _choice(self, node: ast.IfExp) -> Iterator[Edit]:
        yield from (self._whole(node, f"({self.text.of(one)})") for one in (node.body, node.orelse))

    def _handed_on(self, node: ast.Call) -> Iterator[Edit]:
        """What has the name of an argument that a call of a function of one's own may be given, and is not."""
        called = self.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if isinstance(node.func, ast.Attribute) and self._of_self(node.func):
            called = self.methods.get(node.func.attr)
        given = {one.arg for one in node.keywords}
        if called is None or None in given or any(isinstance(one, ast.Starred) for one in node.args):
            return
        positions = [one.arg for one in called.args.args if one.arg != "self"]
        optional = positions[len(positions) - len(called.args.defaults) :] if called.args.defaults else []
        at = self.text.end(node) - 1
        comma = "" if self.text.source[:at].rstrip().endswith((",", "(")) else ", "
        for name in optional:
            if name not in {*positions[: len(node.args)], *given} and name in self.names and self.bound(name, node):
                yield at, at, f"{comma}{name}={name}"

    def _call(self, node: ast.Call) -> Iterator[Edit]:
        yield from self._handed_on(node)
        own = self.text
        for first, second in zip(node.args, node.args[1:], strict=False):
            between = own.source[own.end(first) : own.start(second)]
            yield own.start(first), own.end(second), own.of(second) + between + own.of(first)
        for number, keyword in enumerate(node.keywords):
            others = [*node.args, *(other.value for other in node.keywords[:number])]
            if keyword.arg and others:
                yield own.end(others[-1]), own.end(keyword.value), ""
        for one, two in zip(node.keywords, node.keywords[1:], strict=False):
            between = own.source[own.end(one.value) : own.start(two.value)]
            yield own.start(one.value), own.end(two.value), own.of(two.value) + between + own.of(one.value)
        if isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
            yield from self._one_off(node.args[0] if len(node.args) == 1 else node.args[1])
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        for form in IN_PLACE_OF.get(method, ()):
            yield self._whole(node, form.format(own.of(node)))
        if method == "squeeze" and not (node.args or node.keywords):  # where other axes are of size 1, too
            yield self._whole(node, f"{own.of(node.func)}(-1)")
        if method == "append" and isinstance(node.args[0] if node.args else None, ast.Name):  # a batch of one
            yield self._whole(node.args[0], f"{own.of(node.args[0])}[0]")
        if method in MASKING and node.args:
            yield self._whole(node.args[0], f"~({own.of(node.args[0])}).bool()")
        if method in GATHERING and len(node.args) == 2:  # an order in the place of the one that undoes it
            yield self._whole(node.args[1], f"{own.of(node.args[1])}.argsort({own.of(node.args[0])})")
        if isinstance(node.func, ast.Attribute) and not self._is_library(node.func.value):
            if method in SPLITTING:
                yield self._whole(node, f"{own.of(node)}.transpose(1, 2)")
            if method in MERGING:
                yield self._whole(node.func.value, f"{own.of(node.func.value)}.transpose(1, 2).contiguous()")
            if method == "repeat" and len(node.args) > 1:
                yield from self._interleaved(node, own.of(node.func.value))
            if method not in FILLING:  # without it a loop that waits for that would never end
                yield self._whole(node, f"({own.of(node.func.value)})")
        # Of an iterator nothing would be left after the first use, which may be right by chance.
        alone = len(node.args) == 1 and not node.keywords and method not in FILLING
        if alone and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp)):
            yield self._whole(node, f"({own.of(node.args[0])})")
            if method in POSITIVE:
                yield self._whole(node, f"({own.of(node.args[0])}).exp()")

    def _interleaved(self, node: ast.Call, tensor: str) -> Iterator[Edit]:
        """What `repeat` repeats as a whole along one axis, repeated element by element."""
        more = [at for at, one in enumerate(node.args) if not (isinstance(one, ast.Constant) and one.value == 1)]
        if len(more) == 1 and not node.keywords:
            yield self._whole(node, f"{tensor}.repeat_interleave({self.text.of(node.args[more[0]])}, dim={more[0]})")

    def _is_library(self, node: ast.expr) -> bool:
        """Whether what stands before the dot of a call is no tensor: `torch`, `F`, `self`, ..."""
        return isinstance(node, ast.Name) and node.id not in self.local

    def _sorted_back(self, statement: ast.stmt) -> Iterator[Edit]:
        """All tensors of a statement that one order sorts, put back by the order that undoes it."""
        orders = [one.slice for one in ast.walk(statement) if isinstance(one, ast.Subscript)]
        names = [one for one in orders if isinstance(one, ast.Name)]
        if self.sorts and len(names) > 1 and len({one.id for one in names}) == 1:
            start, new = self.text.start(statement), self.text.of(statement)
            for one in sorted(names, key=self.text.start, reverse=True):
                end = self.text.end(one) - start
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
                for one in ("1:", ":-1", "-1:", ":", f"{low}:", f":{high}", f"{high}:{low}", later):
                    if one not in ("", f"{low}:{high}"):
                        yield self._whole(axis, one)
        texts = [self.text.of(axis) for axis in axes]
        if self.sorts and len(axes) == 1 and isinstance(axes[0], ast.Name):
            yield self._whole(axes[0], f"{texts[0]}.argsort()")
        for at in range(len(axes) - 1):
            if texts[at] != texts[at + 1]:
                yield self._whole(node.slice, ", ".join([*texts[:at], texts[at + 1], texts[at], *texts[at + 2 :]]))
        if isinstance(axes[-1], ast.Slice) and len(axes) == 1:  # of another axis
            yield self._whole(node.slice, f":, {texts[0]}")
        elif isinstance(axes[-1], ast.Slice) and texts[0] == ":" and len(axes) == 2:
            yield self._whole(node.slice, texts[1])
        yield self._whole(node, f"({self.text.of(node.value)})")
