"""Attributes that a constructor sets: the unused ones, and those that hold sizes."""

import ast

from autograder.submissions.syntax_tree import kept


@kept(maxsize=16)
def unused_attributes(tree: ast.Module) -> set[str]:
    """The attributes that a constructor computes and the module never reads; plain copies do not count."""
    attributes: dict[type, set[str]] = {ast.Load: set(), ast.Store: set()}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            plain = [
                node
                for node in ast.walk(function)
                if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Constant))
            ]
            copies = {id(target) for assignment in plain for target in assignment.targets}
            for node in (node for node in ast.walk(function) if id(node) not in copies):
                if isinstance(node, ast.Attribute) and (function.name == "__init__" or isinstance(node.ctx, ast.Load)):
                    attributes.setdefault(type(node.ctx), set()).add(node.attr)
    return attributes[ast.Store] - attributes[ast.Load]


@kept(maxsize=16)
def sizes(tree: ast.Module) -> list[str]:
    """The attributes that hold an integer quotient, or an operand of one, such as d_k = d_model // num_heads."""
    nodes = list(ast.walk(tree))
    quotients = [node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)]
    made_of = {ast.dump(part) for quotient in quotients for part in (quotient, quotient.left, quotient.right)}
    assignments = [node for node in nodes if isinstance(node, ast.Assign) and ast.dump(node.value) in made_of]
    return list(
        dict.fromkeys(
            assignment.targets[0].attr for assignment in assignments if isinstance(assignment.targets[0], ast.Attribute)
        )
    )
