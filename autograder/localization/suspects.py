"""Where a failed call goes wrong: lines that compute a wrong value from right ones, or pass or return the wrong one.

Each suspect is a line with what the evidence says of it. No suspect depends on another one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from autograder.localization.alignment import RANDOM, Alignment
from autograder.localization.reference import given_to, modules_of
from autograder.localization.source import Source
from autograder.localization.trace import Call, Line, Trace
from autograder.worker.tracing.traced_values import PASSED

PLACES = ("argmax", "argmin", "multinomial", "topk")
MOST = 100  # suspects and calls that are looked at: an honest trace has a few, a forged one could have thousands
Given = Callable[[Line], bool]  # whether a line is in a function that is given


@dataclass(frozen=True)
class Suspect:
    """A line that may be wrong, and why."""

    line: Line
    kind: str  # "value", "call", "return", "discarded", "exception", "weak"
    node: int  # when it happens, in the order of the trace
    step: str = ""  # the named step that should come of it
    before: bool = False  # the step is missing before the line
    inputs: tuple[str, ...] = ()  # the named steps that it uses
    called: str = ""  # the module or function that is called with the wrong inputs
    instead: str = ""  # the module beside it to which these inputs belong
    sources: tuple[Line, ...] = ()  # lines of inputs that are right only by weak evidence
    founded: bool = True  # whether at least one of its inputs is right for sure


def find_suspects(alignment: Alignment, source: Source) -> list[Suspect]:
    """The suspects of a failed call, in the order of time; of several on a line the first."""
    given, bare = source.is_given, source.is_bare_call
    calls = dict(_wrong_calls(alignment, given))
    inside = set(calls)
    trace = alignment.trace
    # What a wrong call passes on is wrong for the same reason.
    found = [one for number, one in calls.items() if inside.isdisjoint(around(trace, trace.calls[number].around))]
    found += _wrong_values(alignment, given, inside)
    found += _wrong_returns(alignment, given)
    found += _discarded(alignment, given, bare)
    if not found and alignment.trace.raised_at and not given(alignment.trace.raised_at):
        found.append(Suspect(alignment.trace.raised_at, "exception", alignment.trace.size))
    found = found or list(_weak_values(alignment, given))
    first: dict[Line, Suspect] = {}
    for suspect in sorted(found, key=lambda one: one.node):
        first.setdefault(suspect.line, suspect)
    return list(first.values())


def _wrong_values(alignment: Alignment, given: Given, inside: set[int]) -> Iterator[Suspect]:
    """Wrong values that were computed from right ones.

    Args:
        inside: calls with wrong inputs; what is computed in them follows from that.
    """
    trace = alignment.trace
    for node in range(_last(alignment)):
        wrong = trace.made[node] and alignment.used[node] and not alignment.right[node] and not alignment.weak[node]
        if not wrong or not all(alignment.right[source] for source in trace.inputs[node]):
            continue
        if inside.intersection(around(trace, int(trace.around[node]))) or trace.operations[node] == PASSED:
            continue
        if alignment.plain[node] and alignment.tensors:
            continue  # beside tensors, numbers are anybody's own affair
        line = _blamed(alignment, node, given)
        if line is None:
            continue
        step, before = _missing_step(alignment, node)
        inputs = [alignment.reference.steps[number].name for number in sorted(alignment.named_before(node))]
        weak, founded = _evidence(alignment, node)
        founded = (founded or bool(step or inputs)) and not _right_before(alignment, node)
        yield Suspect(line, "value", node, step, before, tuple(inputs), sources=weak, founded=founded)


def _weak_values(alignment: Alignment, given: Given) -> Iterator[Suspect]:
    """Masks and chosen places that correct code does not have: where nothing else is wrong, one of them may be."""
    trace = alignment.trace
    for node in range(_last(alignment)):
        unknown = alignment.weak[node] and alignment.used[node] and alignment.rows[node] < 0
        line = trace.lines[node]
        if unknown and line and not given(line) and _first_by_chance(alignment, node) == node:
            yield Suspect(line, "weak", node)


def _last(alignment: Alignment) -> int:
    """The node behind which nothing follows from wrong values: they were drawn at random, or NaN came up."""
    trace = alignment.trace
    drawn = [node for node, name in enumerate(trace.operations) if name in RANDOM and alignment.rows[node] < 0]
    nan = np.flatnonzero(trace.nan & trace.made & alignment.used & (alignment.rows < 0))
    whole = trace.size if alignment.reference.whole else trace.size // 4
    return min([trace.size, whole, *(one + 1 for one in drawn[:1]), *(int(one) + 1 for one in nan[:1])])


def around(trace: Trace, call: int) -> list[int]:
    """The calls around a place, the innermost first."""
    found: list[int] = []
    while call >= 0 and len(found) < MOST:
        found.append(call)
        call = trace.calls[call].around
    return found


def _blamed(alignment: Alignment, node: int, given: Given) -> Line | None:
    """The line of a wrong value; its caller if the line is in a given function, or is right when called elsewhere."""
    trace = alignment.trace
    line, caller = trace.lines[node], trace.callers[node]
    if line is None or given(line):
        return caller if caller and not given(caller) else None
    same = [
        one for one, own in enumerate(trace.lines) if own == line and trace.operations[one] == trace.operations[node]
    ]
    elsewhere = {trace.callers[one] for one in same if alignment.matched[one]} - {caller, None}
    wrong = {trace.callers[one] for one in same if not alignment.right[one]}
    return caller if caller and not given(caller) and elsewhere - wrong else line


def _evidence(alignment: Alignment, node: int) -> tuple[tuple[Line, ...], bool]:
    """Other lines whose values a node's line uses and that may be right by chance; whether a value surely is right."""
    trace, seen, waiting = alignment.trace, set[int](), list(alignment.trace.inputs[node])
    found, founded = list[Line](), False
    while waiting:
        source = waiting.pop()
        if source in seen:
            continue
        seen.add(source)
        at = trace.lines[source]
        if at == trace.lines[node] and at is not None:
            waiting += trace.inputs[source]
        elif at and _may_be_chance(alignment, source):
            found.append(at)
        else:
            founded |= bool(
                alignment.matched[source] or (alignment.rows[source] >= 0 and not alignment.trivial[source])
            )
    return tuple(dict.fromkeys(found)), founded


def _may_be_chance(alignment: Alignment, node: int) -> bool:
    """Whether a value counts as right by weak evidence only: a mask, a value not seen, an unusual constant."""
    constant = alignment.trivial[node] and not alignment.plain[node] and alignment.rows[node] < 0
    return bool(alignment.trace.made[node] and (alignment.weak[node] or alignment.unknown[node] or constant))


def _first_by_chance(alignment: Alignment, node: int) -> int:
    """The first of a chain of such values, each computed from the one before."""
    while before := [one for one in alignment.trace.inputs[node] if _may_be_chance(alignment, one)]:
        node = before[0]
    return node


def _right_before(alignment: Alignment, node: int) -> bool:
    """Whether the same operation of the same line was right in an earlier round: then what the loop keeps is wrong."""
    trace = alignment.trace
    if not any(name in PLACES for name in trace.operations[:node]):
        return False  # only what was chosen in earlier rounds changes what comes later
    same = (trace.lines[node], trace.operations[node], trace.callers[node])
    return any(
        (trace.lines[one], trace.operations[one], trace.callers[one]) == same and alignment.matched[one]
        for one in range(node)
    )


def _missing_step(alignment: Alignment, node: int) -> tuple[str, bool]:
    """The named step that should come of a node's inputs and is not computed, and whether it is missing before that."""
    steps, trace = alignment.reference.steps, alignment.trace
    before, line = alignment.named_before(node), trace.lines[node]
    on_line = {trace.operations[one] for one, at in enumerate(trace.lines) if at == line}
    after = [number for number in alignment.missing_steps if before & set(steps[number].after)]
    first = [
        number for number in alignment.missing_steps if not steps[number].after and steps[number].operation in on_line
    ]
    found = after or first[:1]
    if not found:
        return "", False
    step, own = steps[found[0]], trace.operations[node]
    later = {one.operation for one in steps[found[0] + 1 :] if found[0] in one.after}
    return step.name, own in later and step.operation not in on_line


def _wrong_calls(alignment: Alignment, given: Given) -> Iterator[tuple[int, Suspect]]:
    """Calls of modules and functions whose inputs are right, but are not what correct code passes to them."""
    trace, reference = alignment.trace, alignment.reference
    for number, call in enumerate(trace.calls[: 10 * MOST]):
        sets = reference.calls.get(call.path, ())
        rows = given_to(call, alignment.row)
        wrong = bool(sets) and -1 not in rows and rows not in sets
        if not wrong or not all(alignment.right[node] for node in call.inputs):
            continue
        if call.outputs and alignment.matched[list(call.outputs)].all():
            continue  # its result is right
        if any(one.line == call.line and given_to(one, alignment.row) in sets for one in trace.calls[:number]):
            continue  # it was right in an earlier round: the loop runs too often, or its state is wrong
        constants = [node for node in call.inputs if alignment.trivial[node] and trace.made[node]]
        if constants and any(set(rows) <= set(one) for one in sets):
            continue  # whether a constant input is the right one is not seen
        line = call.line
        if line is None or given(line):
            continue
        name, time = module_name(call.path), max(call.inputs, default=0) + 1
        odd = [node for node in call.inputs if not any(alignment.row(node) in one for one in sets)]
        if odd and all(_may_be_chance(alignment, node) for node in odd):
            made = _first_by_chance(alignment, odd[0])
            if (origin := trace.lines[made]) and not given(origin):
                yield number, Suspect(origin, "value", made)  # a mask, for instance, that no correct code passes there
                continue
        yield number, Suspect(line, "call", time, called=name, instead=_meant(alignment, call, rows))


def _meant(alignment: Alignment, call: Call, rows: tuple[int, ...]) -> str:
    """The module beside the called one to which correct code passes these inputs, and this code does not."""
    made = {(one.path, given_to(one, alignment.row)) for one in alignment.trace.calls}
    parent, reference = call.path.rpartition(".")[0], alignment.reference
    beside = [
        module_name(path)
        for path in reference.counts
        if rows in reference.calls.get(path, ()) and path.rpartition(".")[0] == parent and (path, rows) not in made
    ]
    return beside[0] if rows and beside else ""


def _wrong_returns(alignment: Alignment, given: Given) -> Iterator[Suspect]:
    """Returns of right values that correct code does not return there."""
    trace, reference = alignment.trace, alignment.reference
    for call in trace.calls[: 10 * MOST]:
        sets = reference.returns.get(call.path, ())
        rows = tuple(alignment.row(node) for node in call.outputs)
        line = call.returns
        if not sets or line is None or given(line) or rows in sets or -1 in rows or not rows:
            continue
        if any(len(one) == len(rows) and all(b in (-2, a) for a, b in zip(one, rows, strict=True)) for one in sets):
            continue
        yield Suspect(line, "return", max(call.outputs) + 1, inputs=_names(alignment, call.outputs))


def _discarded(alignment: Alignment, given: Given, bare: Given) -> Iterator[Suspect]:
    """Lines that compute something and discard it."""
    trace = alignment.trace
    for node, line in enumerate(trace.lines):
        if line and trace.made[node] and not alignment.consumers[node] and bare(line) and not given(line):
            yield Suspect(line, "discarded", node)


def _names(alignment: Alignment, nodes: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(alignment.reference.steps[steps[-1]].name for node in nodes if (steps := alignment.named(node)))
    )


def never_called(alignment: Alignment) -> list[str]:
    """The modules that all correct code calls, and this call neither calls nor uses the weights of.

    If a stand-in ran instead of a method, nobody knows which submodules the student's method would have called.
    """
    trace = alignment.trace
    if trace.raised is not None or not trace.whole:
        return []
    touched = modules_of(trace)
    followed = {call.path.rpartition(".")[0] for call in trace.calls if call.path.endswith("()")}
    owners = {"", *followed}
    return [path for path in alignment.reference.counts if path not in touched and path.rpartition(".")[0] in owners]


def module_name(path: str) -> str:
    """The name of a module as a verdict says it: "norm1", or "blocks.0" of a list."""
    names = path.split(".")
    return ".".join(names[-2:]) if names[-1].isdigit() else names[-1]
