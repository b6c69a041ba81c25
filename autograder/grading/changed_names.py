"""Which list or dictionary a statement changes, and under which names a function has its arguments."""

import ast

# Methods of lists, dictionaries, modules and optimizers that are called for what they change.
CHANGING = {
    *("append", "extend", "insert", "add", "update", "remove", "pop", "clear", "setdefault", "appendleft", "sort"),
    *("backward", "step", "train", "eval", "zero_grad", "register_buffer", "manual_seed"),
}


def changed_name(node: ast.Expr | ast.Assign | ast.AugAssign) -> str:
    """The name of the list or dictionary that a statement changes, if it is one like `new.append(x)`."""
    if isinstance(node, ast.Expr):
        method = node.value.func if isinstance(node.value, ast.Call) else None
        holder = method.value if isinstance(method, ast.Attribute) and method.attr in CHANGING else None
    else:
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        places = target.elts if isinstance(target, ast.Tuple) else [target]
        target = next((one for one in places if isinstance(one, ast.Subscript)), target)
        whole = target if isinstance(node, ast.AugAssign) else None
        holder = target.value if isinstance(target, ast.Subscript) else whole
    return holder.id if isinstance(holder, ast.Name) else ""


def names_of_arguments(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """The arguments of a function, and other names that may be given to them as they are, as in `new = old or []`."""
    arguments = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
    others: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and any(one.id in arguments | others for one in _passed_on(node.value)):
                others.add(target.id)
    return arguments, others


def _passed_on(value: ast.expr) -> list[ast.Name]:
    """The names of which an expression may give back the object itself."""
    if isinstance(value, ast.IfExp):
        return [*_passed_on(value.body), *_passed_on(value.orelse)]
    if isinstance(value, ast.BoolOp):
        return [name for one in value.values for name in _passed_on(one)]
    return [value] if isinstance(value, ast.Name) else []
