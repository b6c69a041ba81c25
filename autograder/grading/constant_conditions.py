"""Conditions on which a loop ends, and which nothing in the loop changes: `while not finished.all()`, say."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

from autograder.diagnosis.findings import Fault, Finding, Text
from autograder.grading.changed_names import CHANGING, VIEWS, names_of_arguments
from autograder.sandbox.traces import Line
from autograder.submissions.syntax_tree import functions

LOOPS = (ast.While, ast.For)
FUNCTIONS = {"len", "bool"}
ASKING = ("all", "any")  # methods by which one asks for something that should change


def with_constant_condition(finding: Finding, ran: Collection[Line], sources: Mapping[str, str], text: Text) -> Finding:
    """What follows, with the only such condition of functions that have run, where no line is wrong for sure."""
    if finding.raised or any(not (fault.vague or fault.returns is not None) for fault in finding.faults):
        return finding
    found = [
        Fault(line, constant=(asked, loop.lineno, loop.end_lineno or loop.lineno))
        for file, source in sources.items()
        for function in functions(file.removesuffix(".py"), source).values()
        if any(one.file == file and function.lineno <= one.number <= (function.end_lineno or 0) for one in ran)
        for loop, test, asked in _constant(function)
        if not text.given(line := Line(file, test.lineno, test.lineno))
    ]
    return replace(finding, faults=tuple(found)) if len(found) == 1 else finding


def _constant(function: ast.FunctionDef) -> Iterator[tuple[ast.stmt, ast.expr, str]]:
    """The loops, the conditions on which they end, and the parts of these that are the same in each round."""
    new = _new_names(function)
    for loop in (one for one in ast.walk(function) if isinstance(one, LOOPS)):
        changed = changed_in(loop)
        for test in _tests(loop):
            for part in _parts(test):
                names = names_in(part) - FUNCTIONS
                grows = "len" not in names_in(part) or test is getattr(loop, "test", None)  # else it may be a guard
                if grows and _asks(part) and names & new and not names & changed:
                    yield loop, test, ast.unparse(part)


def _tests(loop: ast.While | ast.For) -> Iterator[ast.expr]:
    """The conditions on which a loop ends."""
    if isinstance(loop, ast.While):
        yield loop.test
    for node in loop.body:
        if isinstance(node, ast.If) and isinstance(node.body[-1], (ast.Break, ast.Return)):
            yield node.test


def _parts(test: ast.expr) -> list[ast.expr]:
    """The parts of a condition that `and`, `or` and `not` put together."""
    if isinstance(test, ast.BoolOp):
        return [part for value in test.values for part in _parts(value)]
    return _parts(test.operand) if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else [test]


def _asks(part: ast.expr) -> bool:
    """Whether a condition only asks how long a list is, or for all or any of the elements of a tensor."""
    calls = [one.func for one in ast.walk(part) if isinstance(one, ast.Call)]
    length = [one for one in calls if isinstance(one, ast.Name) and one.id in FUNCTIONS]
    asking = [one for one in calls if isinstance(one, ast.Attribute) and one.attr in ASKING]
    return bool(calls) and len(length) + len(asking) == len(calls)


def _new_names(function: ast.FunctionDef) -> set[str]:
    """The names of what a function makes, and that share nothing with anything else, as a view would."""
    arguments, others = names_of_arguments(function)
    nodes = list(ast.walk(function))
    made = [one for one in nodes if isinstance(one, ast.Assign) and not _gives_itself(one)]
    named = [(target, one.value) for one in made for target in one.targets]
    new: set[str] = set()
    shared = arguments | others
    for target, value in named:
        if isinstance(target, ast.Subscript):  # the numbers are copied
            continue
        own = isinstance(value, (ast.Call, ast.BinOp, ast.Compare, ast.List)) and not _is_view(value)
        (new if own else shared).update(names_in(target))
        if not own or isinstance(value, ast.List):  # what it is a part of, and what is a part of it
            shared |= names_in(value.value if isinstance(value, ast.Subscript) else value) - names_in(target)
    return new - shared


def _gives_itself(node: ast.AST) -> TypeGuard[ast.Assign]:
    """Whether a statement is one like `done = done`."""
    value, target = (node.value, node.targets[0]) if isinstance(node, ast.Assign) else (None, None)
    return isinstance(value, ast.Name) and isinstance(target, ast.Name) and value.id == target.id


def _is_view(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in VIEWS


def changed_in(loop: ast.While | ast.For) -> set[str]:
    """The names of what a loop may change."""
    head = loop.test if isinstance(loop, ast.While) else loop.target
    nodes = [one for part in (head, *loop.body) for one in ast.walk(part)]
    same = {id(one.targets[0]) for one in nodes if _gives_itself(one)}
    changed: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in same:
            changed.add(node.id)
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and (
            isinstance(node.ctx, ast.Store) or (isinstance(node, ast.Attribute) and _changes(node.attr))
        ):
            changed |= names_in(node.value)
        elif isinstance(node, ast.Expr) or (isinstance(node, ast.keyword) and node.arg == "out"):
            changed |= names_in(node.value)  # what the call of a statement is for is not seen
    return changed


def _changes(method: str) -> bool:
    return method in CHANGING or method.endswith("_")


def names_in(node: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
