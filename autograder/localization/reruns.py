"""What values alone do not show, found by repeating a call: chance, state, changed arguments, misplaced operations.

Each function returns the lines of which one is wrong; none if that is not sure.
"""

import re
from collections.abc import Collection, Sequence

import numpy as np

from autograder.localization.code_text import text_of
from autograder.localization.reference import LIMIT, ReferenceTrace
from autograder.localization.source import Source
from autograder.localization.trace import Line, Trace

MOST = 30  # operations, and inputs of one, that are looked at: a forged trace could have thousands
UNFILLED = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"}
# Operations whose results share the memory of their first input.
VIEWS = {
    *("__getitem__", "view", "view_as", "reshape", "transpose", "swapaxes", "swapdims", "permute", "unsqueeze"),
    *("squeeze", "flatten", "unflatten", "narrow", "select", "expand", "expand_as", "movedim", "unbind", "split"),
    *("chunk", "contiguous", "to", "double", "float", "type_as", "__get__", "t", "detach", "diagonal", "unfold"),
}
NOT_IN_PLACE = {"__int__", "__index__", "__invert__"}  # which only begin like `__iadd__`
# No gradient comes back through these, in the text of a line.
OUT_OF_GRAPH = re.compile(
    r"\.(?:detach_?|numpy|item|tolist)\(|\.data\b|\bfloat\(|\bmath\.\w+\(|\btorch\.tensor\(|\bno_grad\("
)


def only(lines: Collection[Line | None]) -> tuple[Line, ...]:
    """A line, if it is the only one."""
    found = [line for line in lines if line]
    return (found[0],) if len(found) == 1 == len(lines) else ()


def random_lines(first: Trace, second: Trace) -> tuple[Line, ...]:
    """The first line that computes different numbers from the same inputs in two traces of the same call."""
    off = [not same(a, b) for a, b in zip(first.signatures, second.signatures, strict=False)]
    for node, changed in enumerate(off):
        if first.operations[node] != second.operations[node] or first.inputs[node] != second.inputs[node]:
            break
        if changed and first.made[node] and not any(off[source] for source in first.inputs[node]):
            return only([first.lines[node]])
    return ()


def unfilled_lines(trace: Trace) -> tuple[Line, ...]:
    """The line that makes a tensor without values."""
    return only({line for line, name in zip(trace.lines, trace.operations, strict=True) if name in UNFILLED})


def kept_lines(fresh: Trace, later: Trace) -> tuple[Line, ...]:
    """The first line that uses a tensor which only an object has that was called before.

    Args:
        fresh: the trace of a call on a new object.
        later: that of the same call on an object that was called before.
    """
    given = fresh.signatures[~fresh.made]
    for sources, line in (*zip(later.inputs, later.lines, strict=True), (later.raised or (), later.raised_at)):
        for source in sources:
            weight = later.operations[source] != "" or not np.isfinite(later.signatures[source]).all()
            if later.made[source] or weight or any(same(one, later.signatures[source]) for one in given):
                continue
            # The call that passes it on uses it first.
            return only([next((call.line for call in later.calls if source in call.inputs and call.line), line)])
    return ()


def argument_lines(trace: Trace, source: Source) -> tuple[Line, ...]:
    """The line that first writes into a tensor that the call was given."""
    lines = set()
    for node, operation in enumerate(trace.operations):
        if not trace.made[node] or not in_place(operation) or not trace.inputs[node]:
            continue
        changed = trace.inputs[node][0]
        while trace.made[changed] and trace.inputs[changed] and trace.operations[changed] in VIEWS:
            changed = trace.inputs[changed][0]
        if not trace.made[changed] and not trace.operations[changed]:  # what has a name here is a weight
            lines.add(trace.lines[node])
    return only(lines) or source.lines_filling_arguments(trace)


def in_place(operation: str) -> bool:
    """Whether an operation writes into its first input, as `add_`, `+=` or `x[...] =`."""
    named = operation.endswith("_") and not operation.endswith("__")
    return named or operation == "__setitem__" or (operation.startswith("__i") and operation not in NOT_IN_PLACE)


def using_lines(trace: Trace, modules: Sequence[str]) -> tuple[Line, ...]:
    """The only line that uses the outputs of some modules."""
    outputs = {node for call in trace.calls if call.path in modules for node in call.outputs}
    return only({line for line, inputs in zip(trace.lines, trace.inputs, strict=True) if outputs & set(inputs)})


def operation_lines(trace: Trace, operation: str) -> tuple[Line, ...]:
    """The only line with an operation."""
    return only({line for line, name in zip(trace.lines, trace.operations, strict=True) if name == operation})


def misplaced_lines(
    trace: Trace, reference: ReferenceTrace, modules: Sequence[str], operation: str
) -> tuple[Line, ...]:
    """The only line with an operation that is not applied to the outputs of some modules, where it should be."""
    rows = reference.find(trace.signatures)
    calls = [call for call in trace.calls if call.path in modules]
    outputs = trace.signatures[sorted({node for call in calls for node in call.outputs})]
    called = {call.path for call in calls} == set(modules)  # else these outputs are computed in another way
    correct = {(source, row) for source, name, row in reference.made_from if name == operation}
    usual: dict[Line | None, set[Line | None]] = {}  # the lines where it is right, and their callers
    others = []
    for node in [node for node, name in enumerate(trace.operations) if name == operation][:MOST]:
        given = trace.inputs[node][:MOST]
        off = [np.abs(outputs - trace.signatures[one]).max(axis=1) for one in given]
        elsewhere = called and not any((one <= LIMIT).any() for one in off)
        right = [int(rows[one]) for one in given if rows[one] >= 0]
        if elsewhere or (right and not any((source, int(rows[node])) in correct for source in right)):
            others.append(node)
        else:
            usual.setdefault(trace.lines[node], set()).add(trace.callers[node])
    lines = set()
    for node in others:
        line, caller = trace.lines[node], trace.callers[node]
        lines.add(caller if usual.get(line, set()) - {caller} else line)
    return only(lines)


def making_lines(trace: Trace) -> tuple[Line, ...]:
    """The line that computes the only result of a call, and all that returns it."""
    lines, node = set[Line | None](), trace.results[0] if len(trace.results) == 1 else -1
    while node >= 0 and trace.made[node]:
        lines.add(trace.lines[node])
        sources = trace.inputs[node]
        node = sources[0] if len(sources) == 1 and same(trace.signatures[node], trace.signatures[sources[0]]) else -1
    return only(lines)


def returning_lines(trace: Trace) -> tuple[Line, ...]:
    """The only line on which the outermost functions of a call return."""
    inside = {number for number, call in enumerate(trace.calls) if call.returns}
    return only({call.returns for call in trace.calls if call.returns and call.around not in inside})


def graph_lines(trace: Trace, sources: dict[str, str]) -> tuple[tuple[Line, ...], str]:
    """The line behind a wrong gradient, and why: the first that makes NaN, or the only one that leaves autograd."""
    nan = [line for line, nan, made in zip(trace.lines, trace.nan, trace.made, strict=True) if nan and made]
    if nan:
        return only(nan[:1]), "nan"
    ran = {line for line in trace.lines if line}
    return only({line for line in ran if OUT_OF_GRAPH.search(text_of(line, sources))}), "graph"


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two signatures are those of the same value, or of values that were not seen."""
    if not np.isfinite(one).all() or not np.isfinite(other).all():
        return not np.isfinite(one).all() and not np.isfinite(other).all()
    return bool(np.abs(one - other).max() <= LIMIT)
