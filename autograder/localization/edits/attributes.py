"""Attributes that a constructor makes: those that nothing uses, and those that hold sizes or functions."""

import ast

from autograder.submissions.syntax_tree import kept

NUMBERS = ("int", "float", "bool", "str")


@kept(maxsize=16)
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


@kept(maxsize=16)
def kept_functions(tree: ast.Module) -> list[str]:
    """The attributes in which a constructor keeps what it is given, as it is, and which is no number: self.kernel."""
    found = []
    for constructor in ast.walk(tree):
        if isinstance(constructor, ast.FunctionDef) and constructor.name == "__init__":
            kinds = {one.arg: ast.unparse(one.annotation) if one.annotation else "" for one in constructor.args.args}
            found += [
                target.attr
                for one in ast.walk(constructor)
                if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name)
                for target in one.targets
                if isinstance(target, ast.Attribute) and kinds.get(one.value.id, "int") not in NUMBERS
            ]
    return list(dict.fromkeys(found))


@kept(maxsize=16)
def sizes(tree: ast.Module) -> list[str]:
    """The attributes that hold a whole quotient, or what one is made of, such as d_k = d_model // num_heads."""
    nodes = list(ast.walk(tree))
    quotients = [one for one in nodes if isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv)]
    made_of = {ast.dump(part) for one in quotients for part in (one, one.left, one.right)}
    makers = [one for one in nodes if isinstance(one, ast.Assign) and ast.dump(one.value) in made_of]
    return list(dict.fromkeys(one.targets[0].attr for one in makers if isinstance(one.targets[0], ast.Attribute)))
