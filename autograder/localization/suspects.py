"""Find the lines where a call goes wrong: they compute a wrong value from right ones, or pass or return a wrong value.

Each suspect is a line and its evidence. Suspects do not depend on each other.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from autograder.localization.alignment import RANDOM, Alignment
from autograder.localization.reference import given_to, modules_of
from autograder.localization.source import Source
from autograder.localization.trace import Call, Line, Trace
from autograder.worker.tracing.traced_values import PASSED

PLACES = ("argmax", "argmin", "multinomial", "topk")
MOST = 100  # suspects and calls that are examined: an honest trace has a few, a forged one could have thousands
Given = Callable[[Line], bool]  # whether a line is in a provided function


@dataclass(frozen=True)
class Suspect:
    """A line that may be wrong, and why."""

    line: Line
    kind: str  # "value", "call", "return", "discarded", "exception", "weak"
    node: int  # its position in the trace
    step: str = ""  # the named step that is missing
    where: str = ""  # "here" if the line computes something like it, "before" the line, or "next"
    called: str = ""  # the module or function that is called with the wrong inputs
    instead: str = ""  # the neighbouring module to which these inputs belong
    sources: tuple[Line, ...] = ()  # lines of inputs that are right only by weak evidence
    founded: bool = True  # whether at least one of its inputs is certainly right
    elsewhere: bool = False  # whether the fault may be in another line: see `_may_be_elsewhere`


def find_suspects(alignment: Alignment, source: Source) -> list[Suspect]:
    """The suspects of a failed call, in the order of the trace; only the first one on each line."""
    given, bare = source.is_given, source.is_bare_call
    calls = dict(_wrong_calls(alignment, given))
    inside = set(calls)
    trace = alignment.trace
    # The calls inside a wrong call are wrong for the same reason.
    suspects = [
        suspect for number, suspect in calls.items() if inside.isdisjoint(around(trace, trace.calls[number].around))
    ]
    suspects += _wrong_values(alignment, given, inside)
    suspects += _discarded(alignment, given, bare)
    if not suspects and alignment.trace.ending.raised_at and not given(alignment.trace.ending.raised_at):
        suspects.append(Suspect(alignment.trace.ending.raised_at, "exception", alignment.trace.size))
    suspects = suspects or list(_weak_values(alignment, given))
    suspects += _wrong_returns(alignment, given)
    first: dict[Line, Suspect] = {}
    for suspect in sorted(suspects, key=lambda suspect: suspect.node):
        first.setdefault(suspect.line, suspect)
    return list(first.values())


def _wrong_values(alignment: Alignment, given: Given, inside: set[int]) -> Iterator[Suspect]:
    """Wrong values that were computed from right values.

    Args:
        inside: calls with wrong inputs; the wrong values inside them are consequences.
    """
    trace = alignment.trace
    elsewhere = _may_be_elsewhere(trace)
    for node in range(_last(alignment)):
        wrong = trace.made[node] and alignment.used[node] and not alignment.right[node] and not alignment.weak[node]
        if not wrong or not all(alignment.right[source] for source in trace.inputs[node]):
            continue
        if inside.intersection(around(trace, int(trace.around[node]))) or trace.operations[node] == PASSED:
            continue
        if alignment.plain[node] and alignment.tensors:
            continue  # where there are tensors, plain numbers may differ from program to program
        line = _blamed(alignment, node, given)
        if line is None:
            continue
        step, where = _missing_step(alignment, node)
        weak, founded = _evidence(alignment, node)
        founded = (founded or bool(step or alignment.named_before(node))) and not _right_before(alignment, node)
        yield Suspect(line, "value", node, step, where, sources=weak, founded=founded, elsewhere=line in elsewhere)


def _may_be_elsewhere(trace: Trace) -> set[Line | None]:
    """Lines that do not compute a whole value: another function ran in them, or a loop computes it piece by piece."""
    calling = {caller for line, caller in zip(trace.lines, trace.callers, strict=True) if line != caller}
    places = [place for place in zip(trace.lines, trace.callers, trace.around.tolist(), strict=True) if place[0]]
    times = Counter(place for place, before in zip(places, [None, *places], strict=False) if place != before)
    return calling | {line for (line, _, _), count in times.items() if count > 1}


def _weak_values(alignment: Alignment, given: Given) -> Iterator[Suspect]:
    """Masks and chosen positions that correct code lacks: if nothing else is wrong, one of them may be wrong."""
    trace = alignment.trace
    for node in range(_last(alignment)):
        unknown = alignment.weak[node] and alignment.used[node] and alignment.rows[node] < 0
        line = trace.lines[node]
        if unknown and line and not given(line) and _first_by_chance(alignment, node) == node:
            yield Suspect(line, "weak", node)


def _last(alignment: Alignment) -> int:
    """The node after which wrong values prove nothing, because random numbers were drawn or NaN appeared."""
    trace = alignment.trace
    drawn = [node for node, name in enumerate(trace.operations) if name in RANDOM and alignment.rows[node] < 0]
    nan = np.flatnonzero(trace.nan & trace.made & alignment.used & (alignment.rows < 0))
    whole = trace.size if alignment.reference.whole else trace.size // 4
    return min([trace.size, whole, *(node + 1 for node in drawn[:1]), *(int(node) + 1 for node in nan[:1])])


def around(trace: Trace, call: int) -> list[int]:
    """The calls that enclose a call, innermost first."""
    calls: list[int] = []
    while call >= 0 and len(calls) < MOST:
        calls.append(call)
        call = trace.calls[call].around
    return calls


def _blamed(alignment: Alignment, node: int, given: Given) -> Line | None:
    """The line of a wrong value; its caller if the line is in a provided function."""
    trace = alignment.trace
    line, caller = trace.lines[node], trace.callers[node]
    if line is None or given(line):
        return caller if caller and not given(caller) else None
    return line


def _evidence(alignment: Alignment, node: int) -> tuple[tuple[Line, ...], bool]:
    """The lines that compute inputs which may be right by chance, and whether any input is certainly right."""
    trace, seen, waiting = alignment.trace, set[int](), list(alignment.trace.inputs[node])
    weak, founded = list[Line](), False
    while waiting:
        source = waiting.pop()
        if source in seen:
            continue
        seen.add(source)
        at = trace.lines[source]
        if at == trace.lines[node] and at is not None:
            waiting += trace.inputs[source]
        elif at and _may_be_chance(alignment, source):
            weak.append(at)
        else:
            founded |= bool(
                alignment.matched[source] or (alignment.rows[source] >= 0 and not alignment.trivial[source])
            )
    return tuple(dict.fromkeys(weak)), founded


def _may_be_chance(alignment: Alignment, node: int) -> bool:
    """Whether a value counts as right only on weak evidence: a mask, an unexamined value, an unusual constant."""
    constant = alignment.trivial[node] and not alignment.plain[node] and alignment.rows[node] < 0
    return bool(alignment.trace.made[node] and (alignment.weak[node] or alignment.unknown[node] or constant))


def _first_by_chance(alignment: Alignment, node: int) -> int:
    """The first in a chain of values that may be right by chance, each computed from the previous one."""
    while before := [source for source in alignment.trace.inputs[node] if _may_be_chance(alignment, source)]:
        node = before[0]
    return node


def _right_before(alignment: Alignment, node: int) -> bool:
    """Whether the same operation on this line was right in an earlier iteration; if so, the loop's state is wrong."""
    trace = alignment.trace
    if not any(name in PLACES for name in trace.operations[:node]):
        return False  # only choices of earlier iterations change later ones
    same = (trace.lines[node], trace.operations[node], trace.callers[node])
    return any(
        (trace.lines[earlier], trace.operations[earlier], trace.callers[earlier]) == same and alignment.matched[earlier]
        for earlier in range(node)
    )


def _missing_step(alignment: Alignment, node: int) -> tuple[str, str]:
    """The named step that should be computed from a node's inputs but is not, and where; "" if there is none."""
    steps, trace = alignment.reference.steps, alignment.trace
    before, line = alignment.named_before(node), trace.lines[node]
    on_line = {trace.operations[other] for other, at in enumerate(trace.lines) if at == line}
    after = [number for number in alignment.missing_steps if before & set(steps[number].after)]
    first = [
        number for number in alignment.missing_steps if not steps[number].after and steps[number].operation in on_line
    ]
    candidates = after or first[:1]
    if not candidates:
        return "", ""
    step, operation = steps[candidates[0]], trace.operations[node]
    later = {later_step.operation for later_step in steps[candidates[0] + 1 :] if candidates[0] in later_step.after}
    return step.name, "here" if step.operation in on_line else "before" if operation in later else "next"


def _wrong_calls(alignment: Alignment, given: Given) -> Iterator[tuple[int, Suspect]]:
    """Calls to modules and functions whose inputs are right values, but not the values that correct code passes."""
    trace, reference = alignment.trace, alignment.reference
    for number, call in enumerate(trace.calls[: 10 * MOST]):
        sets = reference.calls.get(call.path, ())
        rows = given_to(call, alignment.row)
        wrong = bool(sets) and -1 not in rows and rows not in sets
        if not wrong or not all(alignment.right[node] for node in call.inputs):
            continue
        if call.outputs and alignment.matched[list(call.outputs)].all():
            continue  # the result is right
        if any(
            earlier.line == call.line and given_to(earlier, alignment.row) in sets for earlier in trace.calls[:number]
        ):
            continue  # it was right in an earlier iteration: the loop runs too often, or its state is wrong
        constants = [node for node in call.inputs if alignment.trivial[node] and trace.made[node]]
        if constants and any(set(rows) <= set(expected) for expected in sets):
            continue  # a constant input cannot be checked
        line = call.line
        if line is None or given(line):
            continue
        name, time = module_name(call.path), max(call.inputs, default=0) + 1
        odd = [node for node in call.inputs if not any(alignment.row(node) in expected for expected in sets)]
        if odd and all(_may_be_chance(alignment, node) for node in odd):
            made = _first_by_chance(alignment, odd[0])
            if (origin := trace.lines[made]) and not given(origin):
                yield number, Suspect(origin, "value", made)  # for instance a mask that correct code never passes here
                continue
        yield number, Suspect(line, "call", time, called=name, instead=_meant(alignment, call, rows))


def _meant(alignment: Alignment, call: Call, rows: tuple[int, ...]) -> str:
    """The neighbouring module to which correct code passes these inputs, but this code does not."""
    made = {(other.path, given_to(other, alignment.row)) for other in alignment.trace.calls}
    parent, reference = call.path.rpartition(".")[0], alignment.reference
    beside = [
        module_name(path)
        for path in reference.counts
        if rows in reference.calls.get(path, ()) and path.rpartition(".")[0] == parent and (path, rows) not in made
    ]
    return beside[0] if rows and beside else ""


def _wrong_returns(alignment: Alignment, given: Given) -> Iterator[Suspect]:
    """The return statements whose values are right, but are not the values that correct code returns there."""
    trace, reference = alignment.trace, alignment.reference
    for call in trace.calls[: 10 * MOST]:
        sets = reference.returns.get(call.path, ())
        rows = tuple(alignment.row(node) for node in call.outputs)
        line = call.returns
        if not sets or line is None or given(line) or rows in sets or -1 in rows or not rows:
            continue
        if any(
            len(expected) == len(rows) and all(row in (-2, wanted) for wanted, row in zip(expected, rows, strict=True))
            for expected in sets
        ):
            continue
        yield Suspect(line, "return", max(call.outputs) + 1)


def _discarded(alignment: Alignment, given: Given, bare: Given) -> Iterator[Suspect]:
    """Lines that compute a tensor and discard it; a call that computes no tensor is made for its effects."""
    trace = alignment.trace
    for node, line in enumerate(trace.lines):
        unused = trace.made[node] and not alignment.plain[node] and not alignment.consumers[node]
        if line and unused and bare(line) and not given(line):
            yield Suspect(line, "discarded", node)


def never_called(alignment: Alignment) -> list[str]:
    """Modules that every correct program calls, but that this call neither runs nor takes weights from.

    If a stand-in ran instead of a method, there is no way to know which submodules the student's method would have
    called.
    """
    trace = alignment.trace
    if trace.ending.raised is not None or not trace.ending.whole:
        return []
    touched = modules_of(trace)
    followed = {call.path.rpartition(".")[0] for call in trace.calls if call.path.endswith("()")}
    owners = {"", *followed}
    return [path for path in alignment.reference.counts if path not in touched and path.rpartition(".")[0] in owners]


def module_name(path: str) -> str:
    """The name of a module in a verdict: "norm1", or "blocks.0" in a list."""
    if path == "it":
        return "the module itself"
    names = path.split(".")
    return ".".join(names[-2:]) if names[-1].isdigit() else names[-1]
