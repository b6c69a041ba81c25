"""The first wrong tensors of a followed call: made by operations to which only what is right was given."""

import numpy as np

from autograder.diagnosis import weak_tensors
from autograder.diagnosis.known_steps import modules_of
from autograder.diagnosis.right_steps import MOST, PARTS, TO_FILL, TOGETHER, Comparison
from autograder.sandbox.plain_values import PASSED
from autograder.sandbox.traces import TRAINED, Line


def suspects(seen: Comparison) -> tuple[list[int], list[int]]:
    """The nodes that are wrong although all that went into them is fine; and those that may be, beside them: they say
    too little to be sure of."""
    trace = seen.trace
    # Where a record ends early it is not seen whether something right comes of a tensor, or what is right.
    last = trace.size if trace.whole else 0
    last = last if seen.known.whole else min(last, trace.size // 4)
    # What is drawn differs, and so may all that comes after it; what is made of NaN that correct code does not have
    # is no fault of the line that makes it.
    last = min([last, *np.flatnonzero(seen.drawn)])
    strange = np.flatnonzero(trace.nan & trace.made & seen.flows & (seen.rows < 0))
    last = min([last, *(strange + 1)])
    found = [
        node
        for node in range(last)
        if trace.made[node]
        and seen.flows[node]
        and not seen.fine[node]
        and not seen.unknown[node]
        and not seen.weights[node]  # what should be made of what the call is given is lost somewhere before
        and all(seen.fine[source] for source in trace.inputs[node])
        and not (seen.weak[node] and not trace.inputs[node])
        and not any(weak_tensors.unseen(seen, source) for source in trace.inputs[node])
        # Of a call that is too long to be recorded, few roads are known: everybody takes parts as he likes.
        and (seen.known.whole or trace.operations[node] not in PARTS)
        and not _passes_on(seen, node)
        and not weak_tensors.picks(seen, node)
        and not seen.counts(node)
        and trace.operations[node] != TRAINED  # by rates that are not seen
        # What is to be filled is not wrong, but what fills it, or does not.
        and not (seen.alike[node] and trace.operations[node].startswith(TO_FILL))
    ]
    causes = weak_tensors.common_causes(seen, found)
    resting = [node for node in found if weak_tensors.rests_on_weak(seen, node) and node not in causes]
    found = [node for node in found if node not in resting and node not in causes]
    found = found if found or causes else _blank(seen, resting)
    found = _without_chance(seen, sorted({*found, *causes.values()}))
    # Beside a sure one, what says too little is none.
    sure = [node for node in found if not seen.weak[node]]
    beside = [node for node in found if seen.weak[node] and not _goes_on(seen, node)] if sure else []
    lines: dict[Line | None, list[int]] = {}
    for node in (sure or found)[:MOST]:
        lines.setdefault(trace.lines[node], []).append(node)
    explaining = [node for nodes in lines.values() if _explain(seen, nodes) for node in nodes]
    return sorted(explaining), beside[:MOST]


def _blank(seen: Comparison, nodes: list[int]) -> list[int]:
    """What modules of other stages, which are right, are given beside what is right: a mask that is alike all over."""
    trace, found = seen.trace, []
    for call in trace.calls:
        made = [one for one in nodes if (one,) == call.outputs and set(trace.inputs[one]) >= set(call.inputs)]
        blank = [one for one in call.inputs if seen.alike[one] and trace.made[one]]
        others = [one for one in call.inputs if one not in blank]
        rows = {int(seen.rows[one]) for one in others}
        usual = {row for known in seen.known.calls.get(call.path, ()) if rows <= {*known} for row in known}
        odd = len(blank) == 1 and int(seen.rows[blank[0]]) not in usual
        if made and odd and others and usual and all(seen.proven[one] for one in others):
            found.append(blank[0])
    return sorted(set(found))


def _without_chance(seen: Comparison, suspects: list[int]) -> list[int]:
    """Suspects without those that use what another one's line has made: in this round it may be right by chance."""
    line = seen.trace.lines
    uses = {node: {line[one] for one in seen.trace.inputs[node] if seen.trace.made[one]} for node in suspects}
    always: dict[Line | None, set[Line | None]] = {}  # what all suspects of a line use
    for node in suspects:
        always[line[node]] = always.get(line[node], uses[node]) & uses[node]
    wrong = {node: (uses[node] & always.keys()) - {line[node]} for node in suspects}
    return [node for node in suspects if all(line[node] in always[one] for one in wrong[node])]


def _passes_on(seen: Comparison, node: int) -> bool:
    """Whether a node is only what its inputs are: a number that is given back, or right tensors put together."""
    trace = seen.trace
    if seen.plain[node]:
        return trace.operations[node] == PASSED
    if trace.operations[node] not in TOGETHER or not all(seen.proven[one] for one in trace.inputs[node]):
        return False
    # Too many, too few, or one again and again: what makes them is wrong, not the line that puts them together.
    rows = [int(seen.rows[one]) for one in trace.inputs[node]]
    # Does it come back, and some module is never called, a loop may have run never, or seldom.
    loop = node in trace.results and any(path not in modules_of(trace) for path in seen.known.counts)
    return loop or (len(rows) > 1 and (trace.shapes != seen.known.shapes or len(set(rows)) < len(rows)))


def _goes_on(seen: Comparison, node: int) -> bool:
    """Whether the line of a node is given something wrong by another line: what it makes of that is no wonder."""
    lines, own = seen.trace.lines, seen.trace.lines[node]
    given = {one for at, line in enumerate(lines) if line == own for one in seen.trace.inputs[at]}
    return any(lines[one] != own and not seen.fine[one] for one in given)


def _explain(seen: Comparison, suspects: list[int]) -> bool:
    """Whether something wrong was computed from suspects of one line and otherwise only from what is fine.

    If all that uses them has other wrong inputs, they may be right on a road of their own.
    """
    ends = seen.trace.raised if seen.trace.raised is not None else seen.trace.results
    users = {node for one in suspects for node in seen.consumers[one] if seen.flows[node] and not seen.fine[node]}
    if not users or any(one in ends for one in suspects):
        return True
    from_it = set(suspects)
    for node in range(suspects[0] + 1, max(users) + 1):
        if any(source in from_it for source in seen.trace.inputs[node]):
            from_it.add(node)
    return any(all(seen.fine[source] or source in from_it for source in seen.trace.inputs[node]) for node in users)
