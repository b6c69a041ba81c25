"""Masks of which correct code has the opposite: what the call gives with that shows whether one of them is wrong."""

from collections.abc import Callable, Collection
from dataclasses import replace

from autograder.diagnosis.findings import Fault, Finding
from autograder.diagnosis.known_steps import Known, gives_what_it_should
from autograder.sandbox.traces import Trace

MASKS = 3  # of which it is looked what their opposites would give
FORBIDDING = ("masked_fill", "masked_fill_", "where", "__setitem__")  # what is done with a mask
Find = Callable[[Collection[int]], Finding]
Turned = Callable[[int], Trace | None]


def with_masks(finding: Finding, trace: Trace, known: Known, find: Find, turned: Turned) -> Finding:
    """What follows from whether the call gives what it should with the opposite of a mask.

    Args:
        find: what follows if some masks are taken for right.
        turned: the record of the call in which the opposite of a mask is used; None if there is none.
    """
    if finding.either_way:
        return _of_either_way(finding, trace, known, find, turned)
    if finding.opposites:
        return _of_opposites(finding, trace, known, find, turned)
    return finding


def _of_either_way(finding: Finding, trace: Trace, known: Known, find: Find, turned: Turned) -> Finding:
    """What follows from masks that correct code has both ways.

    With the opposite of one the call gives what it should: that is said; of a mask that is a result, which is a wrong
    one, with its line. It does not: the masks are right. But that counts only where correct code would do something
    else with what is masked, for their axes may be in wrong places.
    """
    roots = [node for node in finding.either_way if not set(finding.either_way) & set(trace.inputs[node])]
    if len(roots) > MASKS:
        return finding
    for node in roots:
        if (other := turned(node)) is None:
            return finding
        if gives_what_it_should(other, known):
            line, rows = trace.lines[node], known.find(trace.signatures)
            pairs = zip(trace.results, known.results, strict=False)  # the record may be forged
            returned = [right for one, right in pairs if rows[one] == rows[node]]
            if line and returned and int(rows[node]) not in returned:
                name = next((step.name for step in known.steps if step.row in returned), "a result")
                return replace(finding, faults=(Fault(line, opposite=name),))
            return replace(finding, opposite=line)
    bolder = find(finding.either_way)
    return bolder if bolder.faults and all(fault.left_out or fault.vain for fault in bolder.faults) else finding


def _of_opposites(finding: Finding, trace: Trace, known: Known, find: Find, turned: Turned) -> Finding:
    """What follows from masks of which correct code has the opposite only, where nothing else seems to be wrong.

    Is it not enough to turn them round, they are taken for right, and what is done with them is wrong. But a line that
    forbids by such a mask may yet be right, and the mask wrong: then neither is told.
    """
    tried = [turned(node) for node in finding.opposites[:MASKS]]
    if any(one is None or gives_what_it_should(one, known) for one in tried):
        return finding
    bolder = find(finding.opposites)
    forbids = {line for line, name in zip(trace.lines, trace.operations, strict=True) if name in FORBIDDING}
    return bolder if forbids.isdisjoint(fault.line for fault in bolder.faults) else replace(bolder, faults=())
