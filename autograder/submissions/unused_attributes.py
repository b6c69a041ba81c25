"""Attributes that a constructor makes and nothing uses: what they were made for is missing, perhaps."""

import ast


def unused_attributes(tree: ast.Module) -> set[str]:
    """The attributes that a constructor makes, of more than a name or a constant, and nothing of the module uses."""
    found: dict[type, set[str]] = {ast.Load: set(), ast.Store: set()}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            kept = [
                one
                for one in ast.walk(function)
                if isinstance(one, ast.Assign) and isinstance(one.value, (ast.Name, ast.Constant))
            ]
            copies = {id(target) for one in kept for target in one.targets}
            for node in (one for one in ast.walk(function) if id(one) not in copies):
                if isinstance(node, ast.Attribute) and (function.name == "__init__" or isinstance(node.ctx, ast.Load)):
                    found.setdefault(type(node.ctx), set()).add(node.attr)
    return found[ast.Store] - found[ast.Load]
