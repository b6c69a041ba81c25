"""The line that changes what it should not: a result from one call to the next, or an argument of the call."""

from collections.abc import Sequence

import numpy as np

from autograder.diagnosis.known_steps import LIMIT
from autograder.diagnosis.module_outputs import only
from autograder.sandbox.traces import Call, Line, Trace


def random_line(first: Trace, second: Trace) -> tuple[Line | None, Line | None, bool]:
    """The first line that makes different numbers of the same inputs in two records of the same call, the line that
    calls its function, if one does, and whether another line calls it and no random numbers are drawn."""
    off = [not _same(a, b) for a, b in zip(first.signatures, second.signatures, strict=False)]
    for node, changed in enumerate(off):
        if first.operations[node] != second.operations[node] or first.inputs[node] != second.inputs[node]:
            break
        if changed and first.made[node] and not any(off[source] for source in first.inputs[node]):
            return first.lines[node], first.callers[node], _draws_nothing_elsewhere(first, node, off)
    return None, None, False


def _draws_nothing_elsewhere(trace: Trace, node: int, off: Sequence[bool]) -> bool:
    """Whether a function in which a node is drawn at random is called by another line, too, and draws nothing then.

    Args:
        off: which nodes are others in a second record.
    """
    around = int(trace.around[node])
    if around < 0 or not trace.calls[around].path.endswith("()"):
        return False
    path, line = trace.calls[around].path, trace.calls[around].line
    others = [one for one in trace.calls if one.path == path and one.line != line]
    return any(one.outputs and all(off[made : made + 1] == [False] for made in one.outputs) for one in others)


def unfilled_lines(trace: Trace) -> set[Line | None]:
    """The lines that make tensors without values."""
    made = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"}
    return {line for line, name in zip(trace.lines, trace.operations, strict=True) if name in made}


def making_line(trace: Trace) -> Line | None:
    """The line that makes the numbers of the only result of a call, and all that comes back of them."""
    lines, node = set[Line | None](), trace.results[0] if len(trace.results) == 1 else -1
    while node >= 0 and trace.made[node]:
        lines.add(trace.lines[node])
        sources = trace.inputs[node]
        same = len(sources) == 1 and _same(trace.signatures[node], trace.signatures[sources[0]])
        node = sources[0] if same else -1
    return only(lines)


def returning_line(trace: Trace) -> Line | None:
    """The only line on which the functions return that no other function of the record calls."""
    inside = {number for number, call in enumerate(trace.calls) if call.returns}
    return only({call.returns for call in trace.calls if call.returns and not _around(trace, call) & inside})


def _around(trace: Trace, call: Call) -> set[int]:
    """The calls in which a call is made."""
    found, number = set(), call.around
    while number >= 0:
        found.add(number)
        number = trace.calls[number].around
    return found


def kept_line(fresh: Trace, later: Trace) -> Line | None:
    """The first line that uses a tensor which only an object has that was called before.

    Args:
        fresh: the record of a call on a new object.
        later: that of the same call on one that was called before.
    """
    given = fresh.signatures[~fresh.made]
    for sources, line in (*zip(later.inputs, later.lines, strict=True), (later.raised or (), later.raised_at)):
        for source in sources:
            # What has a name here is a weight.
            if later.made[source] or later.operations[source] or not np.isfinite(later.signatures[source]).all():
                continue
            if not any(_same(one, later.signatures[source]) for one in given):
                # What hands it on to another function uses it first.
                return next((call.line for call in later.calls if source in call.inputs and call.line), line)
    return None


# Operations whose results share the memory of what they are given first.
VIEWS = {
    *("__getitem__", "view", "view_as", "reshape", "transpose", "swapaxes", "swapdims", "permute", "unsqueeze"),
    *("squeeze", "flatten", "unflatten", "narrow", "select", "expand", "expand_as", "movedim", "unbind", "split"),
    *("chunk", "contiguous", "to", "double", "float", "type_as", "__get__", "t", "detach", "diagonal", "unfold"),
}
OTHERS = {"__int__", "__index__", "__invert__"}  # which only begin like `__iadd__`


def in_place(operation: str) -> bool:
    """Whether torch's operation of this name writes into what it is given first, as `add_`, `+=` or `x[...] =`."""
    named = operation.endswith("_") and not operation.endswith("__")
    return named or operation == "__setitem__" or (operation.startswith("__i") and operation not in OTHERS)


def argument_line(trace: Trace) -> Line | None:
    """The line that first writes into what the call was given; none if two do, into two of them."""
    lines = set()
    for node, operation in enumerate(trace.operations):
        if not trace.made[node] or not in_place(operation) or not trace.inputs[node]:
            continue
        source = trace.inputs[node][0]
        while trace.made[source] and trace.inputs[source] and trace.operations[source] in VIEWS:
            source = trace.inputs[source][0]
        if not trace.made[source] and not trace.operations[source]:  # what has a name here is a weight
            lines.add(trace.lines[node])
    return lines.pop() if len(lines) == 1 else None


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    if not np.isfinite(one).all() or not np.isfinite(other).all():
        return not np.isfinite(one).all() and not np.isfinite(other).all()
    return bool(np.abs(one - other).max() <= LIMIT)
