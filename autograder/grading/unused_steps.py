"""What stands there and is of no use: a step whose name is used nowhere, a statement that does nothing."""

import ast
from collections.abc import Mapping
from dataclasses import replace

from autograder.diagnosis.findings import Fault, Finding, Text, goes_own_way
from autograder.grading.source_lines import idle_statements
from autograder.sandbox.traces import Line, Trace
from autograder.submissions.syntax_tree import functions
from autograder.submissions.unused_names import overwritten, unused_names


def with_unused_step(finding: Finding, sources: Mapping[str, str], text: Text) -> Finding:
    """What follows, with the only right step whose name is used nowhere, in place of lines that may be right."""
    if finding.raised or not all(map(goes_own_way, finding.faults)):
        return finding
    made = [line for line, names in finding.right if names and not text.given(line)]
    unused = [(line, name) for line in made if (name := _name(line, sources))]
    if len(unused) != 1:
        return finding
    [(line, name)] = unused
    right = tuple(one for one in finding.right if one[0] != line)
    return replace(finding, faults=(Fault(line, unused=name),), right=right)


def with_overwritten(finding: Finding, trace: Trace, sources: Mapping[str, str], text: Text) -> Finding:
    """What follows, with the only statement that gives a name something else before its old value was used, in place
    of lines that may be right."""
    if finding.raised or not all(map(goes_own_way, finding.faults)):
        return finding
    found = [
        Fault(line, overwrites=(ast.unparse(first.targets[0]), first.lineno))
        for file, source in sources.items()
        for function in functions(file.removesuffix(".py"), source).values()
        for first, last in overwritten(function.body)
        if {(file, first.lineno), (file, last.lineno)} <= trace.begun
        if not text.given(line := Line(file, last.lineno, last.end_lineno or last.lineno))
    ]
    return replace(finding, faults=tuple(found)) if len(found) == 1 else finding


def with_idle_statement(finding: Finding, trace: Trace, sources: Mapping[str, str]) -> Finding:
    """What follows, with the statements that do nothing of functions that have run, in place of what is less sure."""
    found = idle_statements(sources, trace.places())
    if trace.whole:  # what comes behind a `return` does nothing either
        found = {line: does for line, does in found.items() if (line.file, line.number) in trace.begun}
    if not found:
        return finding
    told = {"computes": Fault(next(iter(found)), unused=""), "asks": Fault(next(iter(found)), asks=True)}
    idle = [replace(told.get(does, Fault(line, nothing=True)), line=line) for line, does in found.items()]
    # What comes after such a line may be wrong because of it.
    before = [one for one in finding.faults if not any(_follows(one.line, line) for line in found)]
    sure = [fault for fault in before if not (fault.vague or fault.left_out)]
    right = tuple(one for one in finding.right if one[0] not in found)
    return replace(finding, faults=(*idle, *sure), right=right)


def _follows(line: Line, other: Line) -> bool:
    return line.file != other.file or line.number >= other.number


def _name(line: Line, sources: Mapping[str, str]) -> str:
    """The name that the statement of a line gives to what it makes, if its function uses it nowhere."""
    for function in functions(line.file.removesuffix(".py"), sources.get(line.file, "")).values():
        if function.lineno <= line.number <= (function.end_lineno or 0):
            found = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and one.lineno == line.number]
            names = [one.id for node in found for one in node.targets if isinstance(one, ast.Name)]
            return names[0] if len(names) == 1 and names[0] in unused_names(function) else ""
    return ""
