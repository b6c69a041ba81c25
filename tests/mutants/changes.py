"""Small changes of a correct program by its syntax, each at a known line."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autograder.submissions.syntax_tree import Offsets

OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "**",
}
OTHER_OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "//": "*"}
COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
# Changes after which a statement may compute nothing: what follows is the first that is wrong.
GONE = {
    *("statement dropped", "condition removed", "condition negated"),
    *("method dropped", "call dropped", "operand dropped"),
}
SYMMETRIC = ("transpose", "swapaxes", "swapdims")
SAME = ("size", "item", "contiguous", "detach", "clone")  # methods without which the numbers are the same
MODULES = ("torch", "F", "math", "self", "np")  # what is no tensor before a dot
OTHER_COMPARISONS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}


@dataclass(frozen=True)
class Change:
    """A piece of text that takes the place of another one."""

    kind: str
    start: int  # offsets in the module's text
    end: int
    text: str
    line: int  # where the statement begins

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


def changes(source: str, functions: set[str]) -> Iterator[Change]:
    """All changes inside some functions and methods, "Class.method" or "function"."""
    text = Offsets(source)
    for path, function in _functions(ast.parse(source), ""):
        if path in functions:
            yield from _Changes(text, function).all()


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


class _Changes:
    def __init__(self, text: Offsets, function: ast.FunctionDef) -> None:
        self.text, self.function = text, function
        body = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        self.names = sorted({node.id for node in body if isinstance(node.ctx, ast.Store)} | self._arguments())
        found = {
            self.text.of(node)
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        }
        self.attributes = sorted(found)

    def _arguments(self) -> set[str]:
        return {argument.arg for argument in self.function.args.args} - {"self"}

    def all(self) -> Iterator[Change]:
        for statement in self._statements(self.function.body):
            for kind, start, end, text in (*self._of_statement(statement), *self._of_expressions(statement)):
                yield Change(kind, start, end, text, statement.lineno)

    def _statements(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            yield node
            yield from self._statements(getattr(node, "body", []))
            yield from self._statements(getattr(node, "orelse", []))

    # Statements

    def _of_statement(self, node: ast.stmt) -> Iterator[tuple[str, int, int, str]]:
        start, end = self.text.start(node), self.text.end(node)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Break)):
            yield "statement dropped", start, end, "pass" + "\n" * (len(self.text.of(node).splitlines()) - 1)
        if isinstance(node, (ast.Assign, ast.AugAssign)) and node.lineno == node.end_lineno:
            own = self.text.of(node)
            if isinstance(node, ast.AugAssign) or any(name in self._read(node) for name in self._made(node)):
                yield "statement repeated", start, end, f"{own}; {own}"
        if isinstance(node, (ast.If, ast.While)):
            test = self.text.start(node.test), self.text.end(node.test)
            yield "condition negated", *test, f"not ({self.text.of(node.test)})"
            yield "condition removed", *test, "False"

    def _made(self, node: ast.stmt) -> set[str]:
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    def _read(self, node: ast.stmt) -> set[str]:
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}

    # Expressions

    def _of_expressions(self, statement: ast.stmt) -> Iterator[tuple[str, int, int, str]]:
        waiting: list[ast.AST] = [
            child for child in ast.iter_child_nodes(statement) if isinstance(child, (ast.expr, ast.keyword))
        ]
        if isinstance(statement, ast.FunctionDef):
            waiting = []
        makers: dict[type, Callable[..., Iterator[tuple[str, int, int, str]]]] = {
            ast.BinOp: self._binary,
            ast.Compare: self._comparison,
            ast.Constant: self._constant,
            ast.Call: self._call,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Slice: self._slice,
            ast.UnaryOp: self._unary,
        }
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.JoinedStr):
                continue
            waiting += ast.iter_child_nodes(node)
            if maker := makers.get(type(node)):
                yield from maker(node)

    def _binary(self, node: ast.BinOp) -> Iterator[tuple[str, int, int, str]]:
        symbol = OPERATORS.get(type(node.op), "")
        start, end = self.text.end(node.left), self.text.start(node.right)
        between = self.text.source[start:end]
        if symbol and between.count(symbol) == 1 and symbol in OTHER_OPERATORS:
            yield "operator", start, end, between.replace(symbol, OTHER_OPERATORS[symbol])
        whole = self.text.start(node), self.text.end(node)
        yield "operand dropped", *whole, f"({self.text.of(node.left)})"
        if symbol in ("-", "/", "@", "**"):
            yield "operands swapped", *whole, f"(({self.text.of(node.right)}) {symbol} ({self.text.of(node.left)}))"

    def _comparison(self, node: ast.Compare) -> Iterator[tuple[str, int, int, str]]:
        symbol = COMPARISONS.get(type(node.ops[0]), "")
        start, end = self.text.end(node.left), self.text.start(node.comparators[0])
        between = self.text.source[start:end]
        if symbol and between.count(symbol) == 1:
            yield "comparison", start, end, between.replace(symbol, OTHER_COMPARISONS[symbol])

    def _constant(self, node: ast.Constant) -> Iterator[tuple[str, int, int, str]]:
        place = self.text.start(node), self.text.end(node)
        if isinstance(node.value, bool):
            yield "constant", *place, str(not node.value)
        elif isinstance(node.value, (int, float)):
            yield "constant", *place, f"{node.value + 1}"
            if node.value:
                yield "constant", *place, f"{node.value - 1}"

    def _unary(self, node: ast.UnaryOp) -> Iterator[tuple[str, int, int, str]]:
        yield "sign dropped", self.text.start(node), self.text.end(node), f"({self.text.of(node.operand)})"

    def _call(self, node: ast.Call) -> Iterator[tuple[str, int, int, str]]:
        pairs = [] if self._symmetric(node) else list(zip(node.args, node.args[1:], strict=False))
        for first, second in pairs:
            if self.text.of(first) == self.text.of(second):
                continue
            swapped = self.text.of(second) + self.text.source[self.text.end(first) : self.text.start(second)]
            yield "arguments swapped", self.text.start(first), self.text.end(second), swapped + self.text.of(first)
        for number, keyword in enumerate(node.keywords):
            others = [*node.args, *(other.value for other in node.keywords[:number])]
            if keyword.arg and others:
                yield "argument dropped", self.text.end(others[-1]), self.text.end(keyword.value), ""
        if isinstance(node.func, ast.Attribute) and not node.keywords and node.func.attr not in SAME:
            module = isinstance(node.func.value, ast.Name) and node.func.value.id in MODULES
            if not module:
                yield "method dropped", self.text.start(node), self.text.end(node), f"({self.text.of(node.func.value)})"
            elif len(node.args) == 1 and node.func.value.id == "self":  # type: ignore[attr-defined]
                yield "call dropped", self.text.start(node), self.text.end(node), f"({self.text.of(node.args[0])})"

    def _symmetric(self, node: ast.Call) -> bool:
        """Whether the order of the arguments is all the same: `x.transpose(1, 2)`."""
        return isinstance(node.func, ast.Attribute) and node.func.attr in SYMMETRIC and len(node.args) == 2

    def _name(self, node: ast.Name) -> Iterator[tuple[str, int, int, str]]:
        if isinstance(node.ctx, ast.Load) and node.id in self.names and len(self.names) > 1:
            other = self.names[(self.names.index(node.id) + 1) % len(self.names)]
            yield "name", self.text.start(node), self.text.end(node), other

    def _attribute(self, node: ast.Attribute) -> Iterator[tuple[str, int, int, str]]:
        own = self.text.of(node)
        if own in self.attributes and len(self.attributes) > 1:
            other = self.attributes[(self.attributes.index(own) + 1) % len(self.attributes)]
            yield "attribute", self.text.start(node), self.text.end(node), other

    def _slice(self, node: ast.Slice) -> Iterator[tuple[str, int, int, str]]:
        for bound in (node.lower, node.upper):
            if bound is not None:
                yield "slice bound dropped", self.text.start(bound), self.text.end(bound), ""
