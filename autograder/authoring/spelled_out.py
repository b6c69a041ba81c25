"""Correct code whose numbers of Python have names: what one person computes in one line, another one spells out.

A followed call shows what statements make, and not the parts of an expression (`worker.tracing.traced_values`). Where
no torch function is called, correct code is therefore followed a second time, each part in a statement of its own.
"""

import ast

from autograder.submissions.syntax_tree import parse

LIBRARIES = {"torch", "nn", "F"}  # what these make is seen anyhow
PARTS = (ast.BinOp, ast.Call, ast.UnaryOp)
# What is not always computed, or not only once.
WHOLE = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def spelled_out(text: str) -> str:
    """A module whose functions without torch compute each part in a statement; the same text if there are none."""
    tree, changed = parse(text), False
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not _names(node) & LIBRARIES:
            editor = _Editor(_names(node))
            node.body = editor.block(node.body)
            changed = changed or editor.parts > 0
    return ast.unparse(ast.fix_missing_locations(tree)) if changed else text


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


class _Editor:
    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.parts = 0

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a block, each behind those that make its parts."""
        found: list[ast.stmt] = []
        for node in body:
            for field in ("value", "test", "iter"):
                value = getattr(node, field, None)
                if isinstance(value, ast.expr) and not isinstance(node, ast.While):
                    setattr(node, field, self._inside(value, found))
            for field in () if isinstance(node, ast.FunctionDef) else ("body", "orelse"):
                if inner := getattr(node, field, None):
                    setattr(node, field, self.block(inner))
            found.append(node)
        return found

    def _inside(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """An expression, whose parts are made by statements that are added to those before it."""
        if isinstance(node, WHOLE):
            return node
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not (isinstance(node, ast.Call) and field == "func"):
                setattr(node, field, self._part(value, before))
            elif isinstance(value, list):
                parts = [self._part(one, before) if isinstance(one, ast.expr) else one for one in value]
                setattr(node, field, parts)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node.func.value = self._part(node.func.value, before)
        return node

    def _part(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        node = self._inside(node, before)
        if not isinstance(node, PARTS):
            return node
        self.parts += 1
        name = f"part_{self.parts}"
        assert name not in self.names
        before.append(ast.Assign([ast.Name(name, ast.Store())], node))
        return ast.Name(name, ast.Load())
