"""Which list, dictionary or tensor a statement changes, and under which names a function has its arguments."""

import ast

# Methods of lists, dictionaries, modules and optimizers that are called for what they change.
CHANGING = {
    *("append", "extend", "insert", "add", "update", "remove", "pop", "clear", "setdefault", "appendleft", "sort"),
    *("backward", "step", "train", "eval", "zero_grad", "register_buffer", "manual_seed"),
}

# Methods whose results share the memory of what they are called with, or may do so.
VIEWS = {
    *(
        "view",
        "reshape",
        "flatten",
        "unflatten",
        "squeeze",
        "unsqueeze",
        "transpose",
        "permute",
        "expand",
        "contiguous",
    ),
    *("swapaxes", "select", "narrow", "chunk", "split", "unbind", "diagonal", "detach", "to", "get", "pop", "numpy"),
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


def writes(function: ast.FunctionDef) -> tuple[tuple[int, str], ...]:
    """The lines of a function that write into a tensor, a list or a dictionary, and its name."""
    nodes = [one for one in ast.walk(function) if isinstance(one, (ast.Expr, ast.Assign, ast.AugAssign))]
    return tuple((one.lineno, name) for one in nodes if (name := _written_name(one)))


def last_writes(function: ast.FunctionDef) -> dict[int, str]:
    """The statements that write into a tensor of their function's own whose name stands nowhere behind them, nor
    elsewhere in a loop around them: their lines, and the names."""
    arguments, others = names_of_arguments(function)
    nodes = list(ast.walk(function))
    loops = [(one.lineno, one.end_lineno or 0) for one in nodes if isinstance(one, (ast.For, ast.While))]
    used = [one for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    kept = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    kept -= {name for name, value in _named(nodes) if _is_new(value)}
    kept |= {name for name, value in _named(nodes) if not _is_new(value)} | arguments | others
    found = {}
    for node in nodes:
        if not isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)) or not (name := _written_name(node)):
            continue
        own = {id(one) for one in ast.walk(node)}
        around = [first for first, last in loops if first <= node.lineno <= last]
        behind = [one for one in used if one.id == name and id(one) not in own]
        if name not in kept and all(one.lineno < min([node.lineno, *around]) for one in behind):
            found[node.lineno] = name
    return found


def _named(nodes: list[ast.AST]) -> list[tuple[str, ast.expr]]:
    """The names to which statements give one value, and these."""
    made = [one for one in nodes if isinstance(one, ast.Assign) and len(one.targets) == 1]
    return [(one.targets[0].id, one.value) for one in made if isinstance(one.targets[0], ast.Name)]


def _is_new(value: ast.expr) -> bool:
    """Whether an expression makes a tensor of its own, and is no part of another object and no other view of it."""
    method = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
    return isinstance(value, (ast.Call, ast.BinOp, ast.Compare, ast.UnaryOp)) and method not in VIEWS


def _written_name(node: ast.Expr | ast.Assign | ast.AugAssign) -> str:
    """The name of what a statement writes into, as `x[y] = z` or `x.fill_(z)`."""
    if isinstance(node, ast.Expr):
        method = node.value.func if isinstance(node.value, ast.Call) else None
        if not isinstance(method, ast.Attribute) or not method.attr.endswith("_") or method.attr.endswith("__"):
            return ""
        return method.value.id if isinstance(method.value, ast.Name) else ""
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    return target.value.id if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) else ""


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
