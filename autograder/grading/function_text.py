"""What the text of a function says of its lines: where names are made and used, its branches, loops and returns."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autograder.grading.changed_names import CHANGING, changed_name, last_writes, names_of_arguments, writes
from autograder.submissions.filled_lists import empty_lists, unfilled_lists
from autograder.submissions.loop_bodies import makes_something
from autograder.submissions.syntax_tree import functions, kept, statements

DOES = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)  # such an expression may do something
COMPUTES = (ast.BinOp, ast.UnaryOp, ast.Compare)


@dataclass(frozen=True)
class FunctionText:
    """A function or a method: its lines, and where names are used and given to something."""

    first: int
    last: int
    used: tuple[tuple[int, str], ...]
    made: tuple[tuple[int, str], ...]
    changing: frozenset[str]  # names to which a loop gives something
    branches: tuple[tuple[int, int], ...]  # the first line of each `if`, and the one after its last
    bare: tuple[int, ...]  # calls of methods of local names, whose results get no name
    # Lines of `return`, values before a list, and what fills the list, if it is one statement.
    filled: tuple[tuple[int, int, ast.stmt | None], ...]
    unfilled: tuple[tuple[int, int, str], ...]  # lines of `return`, of what makes an empty list, and its name
    making: tuple[int, ...]  # lines of `return` that call or compute something
    early: tuple[int, ...]  # lines of those in a block that only pass on names
    loops: tuple[tuple[int, int, int], ...]  # heads, the first line behind each, and its last one
    ends: Mapping[int, int]  # the last lines of statements without blocks, by their first ones
    writes_into: tuple[tuple[int, str], ...]  # lines that write into a tensor, and its name
    fills: tuple[tuple[int, str], ...]  # lines that put something into a list, and its name
    last_writes: Mapping[int, str]  # lines that write into a tensor that is not used any more, and its name
    # The first and the last line of statements that write into an argument, and those of the branch that they are in.
    writes: tuple[tuple[int, int, int, int], ...]
    # The lines of statements that do nothing, and what else they do: "" nothing, "computes" or "asks".
    idle: tuple[tuple[int, int, str], ...]
    alone: int  # the line of the only statement, 0 if there are several
    chooses: bool  # whether it does nothing but choose what it returns
    keeps: tuple[tuple[int, int, str], ...]  # the lines of statements that give something to an attribute, and its name


@kept(maxsize=64)
def functions_of(file: str, text: str) -> dict[str, FunctionText]:
    try:
        found = functions(file.removesuffix(".py"), text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {path: _read(node) for path, node in found.items()}


def _read(function: ast.FunctionDef) -> FunctionText:
    nodes = list(ast.walk(function))
    used: list[tuple[int, str]] = []
    made: list[tuple[int, str]] = []
    sizes = {id(name) for node in nodes for name in _unpacked(node)}
    loops = [node for node in nodes if isinstance(node, (ast.For, ast.While))]
    names = {id(name): name for loop in loops for name in ast.walk(loop) if isinstance(name, ast.Name)}
    changing = frozenset(name.id for name in names.values() if not isinstance(name.ctx, ast.Load))
    heads = [node.target for node in nodes if isinstance(node, (ast.For, ast.comprehension))]
    rounds = {name.id for head in heads for name in ast.walk(head) if isinstance(name, ast.Name)}
    empty = {id(name) for node in nodes for name in _nothing(node)}
    for node in nodes:
        if isinstance(node, ast.Name) and id(node) not in sizes | empty and node.id not in rounds:
            (used if isinstance(node.ctx, ast.Load) else made).append((node.lineno, node.id))
    bare = [node.lineno for node in nodes if isinstance(node, ast.Expr) and _of_tensor(node.value)]
    branches = tuple((node.lineno, (node.end_lineno or node.lineno) + 1) for node in nodes if isinstance(node, ast.If))
    end, filled = function.end_lineno or function.lineno, tuple(_filled(function))
    own, given = tuple(sorted(used)), tuple(sorted(made))
    returns = [node for node in nodes if isinstance(node, ast.Return) and node.value]
    makes = (ast.Call, ast.BinOp, ast.Subscript)
    making = tuple(node.lineno for node in returns if any(isinstance(one, makes) for one in ast.walk(node)))
    early = tuple(node.lineno for node in returns if node not in function.body and node.lineno not in making)
    spans = tuple(
        (one.lineno, one.body[0].lineno, one.end_lineno or one.lineno) for one in loops if makes_something(one.body)
    )
    changing_others = [node for node in nodes if isinstance(node, (ast.Expr, ast.Assign))]
    arguments, others = names_of_arguments(function)
    written = [one for one in changing_others if changed_name(one) in arguments]
    written = written or [one for one in changing_others if changed_name(one) in others]
    whole = [node for node in nodes if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    ends = {node.lineno: node.end_lineno or node.lineno for node in whole}
    return FunctionText(
        function.lineno,
        end,
        own,
        given,
        changing,
        branches,
        tuple(bare),
        filled,
        tuple(unfilled_lists(function)),
        making,
        early,
        spans,
        ends,
        writes(function),
        tuple((one.lineno, name) for one in nodes if isinstance(one, ast.Expr) and (name := changed_name(one))),
        last_writes(function),
        tuple((one.lineno, one.end_lineno or one.lineno, *_branch(one, nodes)) for one in written),
        tuple(_idle(function)),
        body[0].lineno if len(body := list(statements(function.body))) == 1 else 0,
        len(body) > 1 and all(isinstance(one, (ast.If, ast.Return, ast.Raise)) for one in _inner(body)),
        tuple((one.lineno, one.end_lineno or one.lineno, name) for one in whole if (name := _kept(one))),
    )


def _inner(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function, and those of their branches."""
    for one in body:
        yield one
        if isinstance(one, ast.If):
            yield from _inner([*one.body, *one.orelse])


def _branch(statement: ast.stmt, nodes: list[ast.AST]) -> tuple[int, int]:
    """The first and the last line of the innermost branch of an `if` that a statement is in; else its own."""
    blocks = [block for node in nodes if isinstance(node, ast.If) for block in (node.body, node.orelse) if block]
    spans = [(block[0].lineno, block[-1].end_lineno or block[-1].lineno) for block in blocks]
    around = [(first, last) for first, last in spans if first <= statement.lineno <= last]
    return max(around, default=(statement.lineno, statement.end_lineno or statement.lineno))


def _kept(node: ast.stmt) -> str:
    """The attribute to which a statement gives something, as `self.pe = pe` and `self.register_buffer("pe", pe)`."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    if isinstance(target, ast.Attribute):
        return target.attr
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr.startswith("register_"):
        name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
        return name if isinstance(name, str) else ""
    return ""


def _idle(function: ast.FunctionDef) -> Iterator[tuple[int, int, str]]:
    """The expressions that stand for themselves, and call nothing, as `optimizer.step`, or compute for nothing; and
    conditions in loops on which nothing is done."""
    # One in a `try` may be there for what it raises.
    guarded = {one for block in ast.walk(function) if isinstance(block, ast.Try) for one in ast.walk(block)}
    for node in ast.walk(function):
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant) and node not in guarded:
            computes = isinstance(node.value, COMPUTES)
            if computes or not any(isinstance(one, DOES) for one in ast.walk(node)):
                yield node.lineno, node.end_lineno or node.lineno, "computes" if computes else ""
        if isinstance(node, (ast.For, ast.While)):
            yield from ((one.lineno, one.lineno, "asks") for one in _asking(node))


def _asking(loop: ast.For | ast.While) -> Iterator[ast.If]:
    """The conditions in a loop on which nothing is done, or only the round ended, at its end."""
    for node in (one for one in ast.walk(loop) if isinstance(one, ast.If) and not one.orelse):
        ends = node is loop.body[-1] and isinstance(node.body[0], ast.Continue)
        if ends or all(isinstance(one, ast.Pass) for one in node.body):
            yield node


def _filled(function: ast.FunctionDef) -> Iterator[tuple[int, int, ast.stmt | None]]:
    """The returns that give back a list which begins empty and is filled by one statement; without a statement those
    of other lists."""
    nodes, lists = list(ast.walk(function)), empty_lists(function)
    fills: dict[str, list[ast.stmt]] = {}
    for node in nodes:
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)) and (name := changed_name(node)):
            fills.setdefault(name, []).append(node)
    for node in nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            names = [value.id if isinstance(value, ast.Name) else "" for value in values]
            if names[-1] in lists and names.count(names[-1]) == len(fills.get(names[-1], [])) == 1:
                yield node.lineno, len(values) - 1, fills[names[-1]][0]
            elif any(len(fills.get(name, [])) > 1 for name in names):
                yield node.lineno, 0, None


def _of_tensor(value: ast.expr) -> bool:
    """Whether a call may be of a method of a tensor that leaves this as it is."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    holder, name = value.func.value, value.func.attr
    return (
        not name.endswith("_") and name not in CHANGING and not (isinstance(holder, ast.Name) and holder.id == "self")
    )


def _nothing(node: ast.AST) -> list[ast.expr]:
    """The names that are given None: that holds nothing that could be wrong."""
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if not isinstance(value, ast.Constant) or value.value is not None:
        return []
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []


def _unpacked(node: ast.AST) -> list[ast.expr]:
    """The names that get the sizes of a tensor as it is, as in `rows, columns = x.shape`: they are hardly wrong."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return []
    value = node.value.func if isinstance(node.value, ast.Call) and not node.value.args else node.value
    whole = isinstance(value, ast.Attribute) and value.attr in ("shape", "size")
    return list(node.targets[0].elts) if whole else []
