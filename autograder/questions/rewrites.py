"""Other texts of a statement that may compute the same. Whether they do is decided by running them."""

import ast
import copy
from collections.abc import Iterator

from autograder.submissions.syntax_tree import parse

SAME_METHODS = {
    "transpose": "swapaxes",
    "swapaxes": "transpose",
    "view": "reshape",
    "reshape": "view",
    "masked_fill": "masked_fill",
    "mul": "multiply",
    "size": "size",
}


def rewrites(statement: ast.stmt) -> Iterator[str]:
    """Texts in which one expression of a simple statement is written in another way."""
    for at, node in enumerate(ast.walk(statement)):
        for new in _of(node) if isinstance(node, ast.expr) else ():
            changed = copy.deepcopy(statement)
            old = list(ast.walk(changed))[at]
            yield ast.unparse(ast.fix_missing_locations(_Replacing(old, new).visit(changed)))


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def _of(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, (ast.Add, ast.Mult, ast.BitOr, ast.BitAnd)):
            yield ast.BinOp(node.right, node.op, node.left)
        if isinstance(node.op, ast.Div):
            yield ast.BinOp(
                node.left, ast.Mult(), ast.BinOp(node.right, ast.Pow(), ast.UnaryOp(ast.USub(), ast.Constant(1)))
            )
        if isinstance(node.op, ast.MatMult):
            yield ast.Call(_name("torch.matmul"), [node.left, node.right], [])
        if isinstance(node.op, ast.Sub):
            yield ast.BinOp(ast.UnaryOp(ast.USub(), node.right), ast.Add(), node.left)
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant) and node.right.value == 2:
            yield ast.BinOp(node.left, ast.Mult(), node.left)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        mirrored = {
            ast.Lt: ast.Gt,
            ast.Gt: ast.Lt,
            ast.LtE: ast.GtE,
            ast.GtE: ast.LtE,
            ast.Eq: ast.Eq,
            ast.NotEq: ast.NotEq,
        }
        if kind := mirrored.get(type(node.ops[0])):
            yield ast.Compare(node.comparators[0], [kind()], [node.left])
        if isinstance(node.ops[0], ast.NotEq) and isinstance(node.comparators[0], ast.Constant):
            yield ast.Call(ast.Attribute(node.left, "bool", ast.Load()), [], [])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        yield from (ast.Constant(axis) for axis in (1, 2, 3) if node.operand.value in (1, 2))  # an axis, perhaps
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value in (1, 2, 3):
        yield from (ast.UnaryOp(ast.USub(), ast.Constant(axis)) for axis in (1, 2))
    if isinstance(node, ast.Call):
        yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[ast.expr]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    library = isinstance(owner, ast.Name) and owner.id in ("torch", "F", "math", "np", "nn")
    if name in ("sqrt", "exp") and library and len(node.args) == 1 and name == "sqrt":
        yield ast.BinOp(node.args[0], ast.Pow(), ast.Constant(0.5))
    if (
        library
        and isinstance(owner, ast.Name)
        and owner.id == "torch"
        and node.args
        and not isinstance(node.args[0], (ast.List, ast.Constant, ast.Tuple))
    ):
        yield ast.Call(ast.Attribute(node.args[0], name, ast.Load()), node.args[1:], node.keywords)
    if (
        owner is not None
        and not library
        and name
        in ("transpose", "softmax", "masked_fill", "matmul", "sum", "mean", "permute", "reshape", "unsqueeze", "cumsum")
    ):
        yield ast.Call(_name(f"torch.{name}"), [owner, *node.args], node.keywords)
    if owner is not None and (other := SAME_METHODS.get(name)) and other != name:
        yield ast.Call(ast.Attribute(owner, other, ast.Load()), node.args, node.keywords)
    if name in ("transpose", "swapaxes") and len(node.args) == 2:
        yield ast.Call(node.func, node.args[::-1], node.keywords)
    if name == "contiguous" and owner is not None:
        yield owner


def _name(path: str) -> ast.expr:
    (statement,) = parse(path).body
    assert isinstance(statement, ast.Expr)
    return statement.value
