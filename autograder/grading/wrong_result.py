"""The result that is not yet what it should be, where all that was computed is right: which statement makes it."""

import ast
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from autograder.diagnosis.findings import Fault, Finding, Text
from autograder.diagnosis.known_steps import LIMIT, Known
from autograder.grading.source_lines import uses_filled
from autograder.sandbox.traces import Line, Trace
from autograder.submissions.syntax_tree import functions

RETURNED = "what it returns"
BLOCKS = (ast.If, ast.For, ast.While, ast.Try)


def with_wrong_result(finding: Finding, trace: Trace, known: Known, sources: Mapping[str, str], text: Text) -> Finding:
    """What follows, with the statement that makes the only wrong result, or names it, where no line is wrong."""
    told = finding.faults[0] if len(finding.faults) == 1 else None
    if told and told.made and told.returns is not None:
        return replace(finding, faults=(_at_its_name(told, told.made, trace, sources),))
    if finding.faults or finding.raised or not finding.usual or len(trace.results) != len(known.results):
        return finding
    wanted, made = known.rows[list(known.results)], trace.signatures[list(trace.results)]
    wrong = [
        at
        for at, (own, right) in enumerate(zip(trace.shapes, known.shapes, strict=False))
        if own != right or not np.abs(wanted[at] - made[at]).max() <= LIMIT
    ]
    ends = {call.returns for call in trace.calls if call.outputs == trace.results} - {None}
    if len(wrong) != 1 or len(ends) != 1:
        return finding
    own, right = trace.shapes[wrong[0]], known.shapes[wrong[0]]
    other_order = own != right and math.prod(own) == math.prod(right)
    if not other_order and (own != right or len(wanted) == 1):  # there are too few or too many, or just others
        return finding
    line, name = _named(ends.pop(), wrong[0], len(wanted), sources)
    if line is None or text.given(line):
        return finding
    step = {one.row: one.name for one in known.steps}.get(known.results[wrong[0]], "")
    missing, filled = step if step in finding.missing else "", name == RETURNED and uses_filled(sources, line)
    return replace(finding, faults=(Fault(line, missing, result=name, doubtful=filled),), missing=())


def _at_its_name(fault: Fault, made: Line, trace: Trace, sources: Mapping[str, str]) -> Fault:
    """What is said of a `return`: of the statement that makes the wrong part of it instead, if this only gives it the
    name that stands there, or appends it to the list that does; and nothing else uses it."""
    own = {node for node, line in enumerate(trace.lines) if line == made}
    if any(own & set(trace.inputs[node]) for node in range(trace.size) if node not in own):
        return fault
    end = fault.line
    for function in functions(end.file.removesuffix(".py"), sources.get(end.file, "")).values():
        nodes = list(ast.walk(function))
        found = [one.value for one in nodes if isinstance(one, ast.Return) and one.lineno == end.number]
        back = found[0].elts if found and isinstance(found[0], ast.Tuple) else found
        names = [one.id for one in back if isinstance(one, ast.Name)]
        for one in nodes:
            if not isinstance(one, (ast.Assign, ast.Expr)) or one.lineno != made.number:
                continue
            if isinstance(one, ast.Assign) and len(name := [*_stored(one)]) == 1 and names.count(name[0]) == 1:
                return Fault(made, fault.missing, result=name[0])
            call = one.value if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) else None
            into = call.func if call and isinstance(call.func, ast.Attribute) else None
            if into and into.attr == "append" and isinstance(into.value, ast.Name) and names.count(into.value.id) == 1:
                return Fault(made, returns=fault.returns, fills=end)
    return fault


def _named(end: Line | None, number: int, of: int, sources: Mapping[str, str]) -> tuple[Line | None, str]:
    """The `return` that makes a result, or the last statement that gives something to its name, if in no block."""
    if end is None:
        return None, ""
    for function in functions(end.file.removesuffix(".py"), sources.get(end.file, "")).values():
        found = [one for one in ast.walk(function) if isinstance(one, ast.Return) and one.lineno == end.number]
        whole = found[0].value if found else None
        values = whole.elts if isinstance(whole, ast.Tuple) else [whole]
        if not found or len(values) != of:
            continue
        value = values[number]
        if not isinstance(value, ast.Name):
            return end, RETURNED
        inside = {id(one) for block in ast.walk(function) if isinstance(block, BLOCKS) for one in ast.walk(block)}
        made = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and value.id in _stored(one)]
        before = [one for one in made if one.lineno < end.number]
        last = max(before, key=lambda one: one.lineno, default=None)
        if last and not any(id(one) in inside for one in before):
            return Line(end.file, last.lineno, last.end_lineno or last.lineno), value.id
    return None, ""


def _stored(node: ast.Assign) -> set[str]:
    return {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)}
