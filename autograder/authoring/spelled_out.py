"""Rewrite correct code so that each part of an expression gets a name, since some students split one line into several.

A traced call shows the results of whole statements, but not of the parts of an expression
(`worker.tracing.traced_values`). Therefore, functions without torch calls are traced a second time, with each part in a
separate statement.
"""

import ast

from autograder.submissions.syntax_tree import parse

LIBRARIES = {"torch", "nn", "F"}  # their results are traced anyway
PARTS = (ast.BinOp, ast.Call, ast.UnaryOp)
# Expressions whose parts are evaluated conditionally or repeatedly.
WHOLE = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def spelled_out(text: str) -> str:
    """Rewrite the functions that do not call torch, with a separate statement for each part of an expression."""
    tree, changed = parse(text), False
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not _names(node) & LIBRARIES:
            editor = _Editor(_names(node))
            node.body = editor.block(node.body)
            changed = changed or editor.parts > 0
    return ast.unparse(ast.fix_missing_locations(tree)) if changed else text


def _names(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


class _Editor:
    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.parts = 0

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a block, each preceded by the statements that compute its parts."""
        statements: list[ast.stmt] = []
        for node in body:
            for field in ("value", "test", "iter"):
                value = getattr(node, field, None)
                if isinstance(value, ast.expr) and not isinstance(node, ast.While):
                    setattr(node, field, self._inside(value, statements))
            for field in () if isinstance(node, ast.FunctionDef) else ("body", "orelse"):
                if inner := getattr(node, field, None):
                    setattr(node, field, self.block(inner))
            statements.append(node)
        return statements

    def _inside(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """Return an expression after moving its parts into new statements, appended to `before`."""
        if isinstance(node, WHOLE):
            return node
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not (isinstance(node, ast.Call) and field == "func"):
                setattr(node, field, self._part(value, before))
            elif isinstance(value, list):
                parts = [self._part(item, before) if isinstance(item, ast.expr) else item for item in value]
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
