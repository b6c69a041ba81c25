"""Faults that values alone do not reveal, found by repeating calls: randomness, state, changed arguments, wrong order.

Each function returns lines, at least one of which is wrong. If this is not certain, it returns none.
"""

import re
from collections.abc import Collection, Sequence

import numpy as np

from autograder.localization.code_text import text_of
from autograder.localization.reference import LIMIT, ReferenceTrace
from autograder.localization.source import Source
from autograder.localization.trace import Line, Trace

MOST = 30  # the most operations, or inputs of an operation, that are examined: a forged trace could have thousands
UNFILLED = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"}
# Operations whose results share the memory of their first input.
VIEWS = {
    *("__getitem__", "view", "view_as", "reshape", "transpose", "swapaxes", "swapdims", "permute", "unsqueeze"),
    *("squeeze", "flatten", "unflatten", "narrow", "select", "expand", "expand_as", "movedim", "unbind", "split"),
    *("chunk", "contiguous", "to", "double", "float", "type_as", "__get__", "t", "detach", "diagonal", "unfold"),
}
NOT_IN_PLACE = {"__int__", "__index__", "__invert__"}  # these only look like `__iadd__`
# Operations, as written in code, through which no gradients flow back.
OUT_OF_GRAPH = re.compile(
    r"\.(?:detach_?|numpy|item|tolist)\(|\.data\b|\bfloat\(|\bmath\.\w+\(|\btorch\.tensor\(|\bno_grad\("
)


def only(lines: Collection[Line | None]) -> tuple[Line, ...]:
    """The line as a tuple if there is exactly one, else an empty tuple."""
    named = [line for line in lines if line]
    return (named[0],) if len(named) == 1 == len(lines) else ()


def random_lines(first: Trace, second: Trace) -> tuple[Line, ...]:
    """The first line that computes different numbers from the same inputs in two traces of the same call."""
    off = [not same(signature, other) for signature, other in zip(first.signatures, second.signatures, strict=False)]
    for node, changed in enumerate(off):
        if first.operations[node] != second.operations[node] or first.inputs[node] != second.inputs[node]:
            break
        if changed and first.made[node] and not any(off[source] for source in first.inputs[node]):
            return only([first.lines[node]])
    return ()


def unfilled_lines(trace: Trace) -> tuple[Line, ...]:
    """The line that creates an uninitialised tensor."""
    return only({line for line, name in zip(trace.lines, trace.operations, strict=True) if name in UNFILLED})


def kept_lines(fresh: Trace, later: Trace) -> tuple[Line, ...]:
    """The first line that uses a tensor kept by the object from an earlier call.

    Args:
        fresh: the trace of a call on a new object.
        later: the trace of the same call on an object that was called before.
    """
    given = fresh.signatures[~fresh.made]
    for sources, line in (
        *zip(later.inputs, later.lines, strict=True),
        (later.ending.raised or (), later.ending.raised_at),
    ):
        for source in sources:
            weight = later.operations[source] != "" or not np.isfinite(later.signatures[source]).all()
            if later.made[source] or weight or any(same(signature, later.signatures[source]) for signature in given):
                continue
            # The call that passes the tensor on uses it first.
            return only([next((call.line for call in later.calls if source in call.inputs and call.line), line)])
    return ()


def argument_lines(trace: Trace, source: Source) -> tuple[Line, ...]:
    """The first line that writes into an argument of the call."""
    lines = set()
    for node, operation in enumerate(trace.operations):
        if not trace.made[node] or not in_place(operation) or not trace.inputs[node]:
            continue
        changed = trace.inputs[node][0]
        while trace.made[changed] and trace.inputs[changed] and trace.operations[changed] in VIEWS:
            changed = trace.inputs[changed][0]
        if not trace.made[changed] and not trace.operations[changed]:  # inputs with a name are weights
            lines.add(trace.lines[node])
    return only(lines) or source.lines_filling_arguments(trace)


def in_place(operation: str) -> bool:
    """Whether an operation writes into its first input, like `add_`, `+=` or `x[...] =`."""
    named = operation.endswith("_") and not operation.endswith("__")
    return named or operation == "__setitem__" or (operation.startswith("__i") and operation not in NOT_IN_PLACE)


def using_lines(trace: Trace, modules: Sequence[str]) -> tuple[Line, ...]:
    """The only line that uses the outputs of certain modules."""
    outputs = {node for call in trace.calls if call.path in modules for node in call.outputs}
    return only({line for line, inputs in zip(trace.lines, trace.inputs, strict=True) if outputs & set(inputs)})


def operation_lines(trace: Trace, operation: str) -> tuple[Line, ...]:
    """The only line that performs a given operation."""
    return only({line for line, name in zip(trace.lines, trace.operations, strict=True) if name == operation})


def misplaced_lines(
    trace: Trace, reference: ReferenceTrace, modules: Sequence[str], operation: str
) -> tuple[Line, ...]:
    """The only line that applies an operation to anything but the outputs of certain modules."""
    rows = reference.find(trace.signatures)
    calls = [call for call in trace.calls if call.path in modules]
    outputs = trace.signatures[sorted({node for call in calls for node in call.outputs})]
    called = {call.path for call in calls} == set(modules)  # if not, these outputs are computed differently
    correct = {(source, row) for source, name, row in reference.made_from if name == operation}
    usual: dict[Line | None, set[Line | None]] = {}  # the lines where it is applied correctly, and their callers
    others = []
    for node in [node for node, name in enumerate(trace.operations) if name == operation][:MOST]:
        given = trace.inputs[node][:MOST]
        off = [np.abs(outputs - trace.signatures[source]).max(axis=1) for source in given]
        elsewhere = called and not any((distance <= LIMIT).any() for distance in off)
        right = [int(rows[source]) for source in given if rows[source] >= 0]
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
    """The only line that computes or merely returns a call's single result."""
    lines, node = set[Line | None](), trace.ending.results[0] if len(trace.ending.results) == 1 else -1
    while node >= 0 and trace.made[node]:
        lines.add(trace.lines[node])
        sources = trace.inputs[node]
        node = sources[0] if len(sources) == 1 and same(trace.signatures[node], trace.signatures[sources[0]]) else -1
    return only(lines)


def returning_lines(trace: Trace) -> tuple[Line, ...]:
    """The line on which a call's outermost functions return, if there is only one such line."""
    inside = {number for number, call in enumerate(trace.calls) if call.returns}
    return only({call.returns for call in trace.calls if call.returns and call.around not in inside})


def graph_lines(trace: Trace, sources: dict[str, str]) -> tuple[tuple[Line, ...], str]:
    """The line that makes a gradient wrong, and why: the first to compute NaN, or the only one to break the graph."""
    nan = [line for line, nan, made in zip(trace.lines, trace.nan, trace.made, strict=True) if nan and made]
    if nan:
        return only(nan[:1]), "nan"
    ran = {line for line in trace.lines if line}
    return only({line for line in ran if OUT_OF_GRAPH.search(text_of(line, sources))}), "graph"


def same(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two signatures belong to the same value, or both to values that were not examined."""
    if not np.isfinite(first).all() or not np.isfinite(second).all():
        return not np.isfinite(first).all() and not np.isfinite(second).all()
    return bool(np.abs(first - second).max() <= LIMIT)
