"""Wrong results that only follow from what other lines have made: these are told. What an exception leaves."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from autograder.diagnosis.findings import Fault, Finding
from autograder.diagnosis.right_steps import UNNAMED, Comparison
from autograder.sandbox.traces import Line, Trace


def drop_consequences(faults: dict[Line, Fault], seen: Comparison, suspects: Sequence[int]) -> None:
    """Leave out a fault behind the first one whose line uses something wrong that was not made there.

    And the first one, if what its line uses is made by the line of another one, above it: in an earlier round of a loop
    that has made something right by chance.
    """
    trace, fine = seen.trace, seen.fine
    first = next(iter(faults), None)
    if first is None:
        return
    inside = {number for number, entry in enumerate(trace.calls) if entry.line == first}
    later: set[int] = set()  # what is made of what the first one has made wrong
    for node in range(trace.size):
        own_line = first in (trace.lines[node], trace.callers[node])
        made_there = own_line or not inside.isdisjoint(seen.around(int(trace.around[node])))
        if (made_there and not fine[node]) or any(source in later for source in trace.inputs[node]):
            later.add(node)
    for line in list(faults)[1:]:
        own = {node for node in range(trace.size) if line in (trace.lines[node], trace.callers[node])}
        sources = {source for node in own for source in trace.inputs[node]} - own
        if any(not fine[source] or source in later for source in sources):
            del faults[line]
    if any(_is_made_by(seen, suspects, first, line) for line in faults):
        del faults[first]


def given_wrongly(seen: Comparison, node: int, given: Callable[[Line], bool]) -> Line | None:
    """The line that makes what a call is given, if nothing else of that is in doubt, and the call's result is wrong
    although no line of the student's is in there: what torch and stand-ins make of right inputs is right.

    Args:
        given: whether a line is of a given function.
    """
    trace = seen.trace
    around = [one for one in seen.around(int(trace.around[node])) if trace.calls[one].line == trace.lines[node]]
    if not around:
        return None
    entry = trace.calls[around[-1]]
    inside = [one for one in range(node) if around[-1] in seen.around(int(trace.around[one]))]
    if any(at and at != entry.line and not given(at) for at in (trace.lines[one] for one in inside)):
        return None
    unknown = [one for one in entry.inputs if seen.rows[one] < 0 and not seen.unknown[one] and not seen.plain[one]]
    line = trace.lines[unknown[0]] if len(unknown) == 1 and trace.made[unknown[0]] else None
    return line if line and line != entry.line and len(entry.inputs) > 1 and not given(line) else None


def _is_made_by(seen: Comparison, suspects: Sequence[int], line: Line, other: Line) -> bool:
    """Whether something that suspects of a line use is made by another line, above it in the same file."""
    if other.file != line.file or other.number >= line.number:
        return False
    trace, known = seen.trace, set[int]()
    waiting = [node for node in suspects if trace.lines[node] == line]
    while waiting:
        node = waiting.pop()
        if trace.lines[node] == other:
            return True
        if node not in known:
            known.add(node)
            waiting += trace.inputs[node]
    return False


def at_result(seen: Comparison, fault: Fault) -> Fault:
    """A fault of a line that goes on without a step, or in another order, on the earlier line that makes what should be
    this step and is a result of the call, as the attribute that a constructor makes."""
    steps = {step.row: step.name for step in seen.known.steps}
    several = len(seen.trace.results) == len(seen.known.results) and fault.returns is None
    for node, right in zip(seen.trace.results, seen.known.results, strict=True) if several else ():
        own = {int(seen.trace.around[one]) for one, at in enumerate(seen.trace.lines) if at == fault.line}
        around = int(seen.trace.around[node])
        called = around >= 0 and seen.trace.calls[around].around in own  # made in a function that is called there
        line = None if called else seen.trace.lines[node]
        if not 0 <= seen.rows[node] != right or not line or line.file != fault.line.file:
            continue
        if line.number < fault.line.number and fault.left_out and steps.get(right) == fault.missing:
            return replace(fault, line=line, before=None if fault.before == line else fault.before)
        apart = not any(call.returns == fault.line and node in call.outputs for call in seen.trace.calls)
        given = {
            source for one, at in enumerate(seen.trace.lines) if at == fault.line for source in seen.trace.inputs[one]
        }
        if line.number < fault.line.number and not (fault.order or fault.calls) and apart and node in given:
            before = None if fault.before == line else fault.before
            return Fault(line, fault.missing, left_out=bool(fault.missing), before=before)
        if line.number < fault.line.number and fault.order and apart and right in seen.alike_rows(node):
            return replace(fault, line=line, order=steps.get(right, UNNAMED), node=node, rows=(right,))
    return fault


def with_exception(finding: Finding, trace: Trace) -> Finding:
    """What follows from a call that ended with an exception: what was not called may have come behind it, and the line
    that raises it has no result, which could be wrong."""
    made_by = {line for node in trace.raised or () if (line := trace.lines[node]) and line != trace.raised_at}
    faults = tuple(
        replace(fault, raises=tuple(sorted(line.number for line in made_by if line.file == fault.line.file)))
        if fault.line == trace.raised_at
        else fault
        for fault in finding.faults
    )
    return replace(finding, faults=faults, raised=True, never=(), often=())
