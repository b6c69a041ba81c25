"""Lines about the outputs of submodules: which uses them, and what stands elsewhere than on them."""

from collections.abc import Collection, Sequence

import numpy as np

from autograder.diagnosis import known_steps
from autograder.sandbox.traces import Line, Trace

MOST = 30  # operations, and inputs of one, that are looked at


def only(lines: Collection[Line | None]) -> Line | None:
    """A line, if it is the only one."""
    return next(iter(lines)) if len(lines) == 1 else None


def using_line(trace: Trace, modules: Sequence[str]) -> tuple[Line | None, Line | None]:
    """The only line that uses the outputs of some modules, and the other one that calls these, if there is one."""
    calls = [call for call in trace.calls if call.path in modules]
    outputs = {node for call in calls for node in call.outputs}
    line = only({line for line, inputs in zip(trace.lines, trace.inputs, strict=True) if outputs & set(inputs)})
    return line, only({call.line for call in calls} - {line})


def misplaced_line(trace: Trace, known: known_steps.Known, modules: Sequence[str], operation: str) -> Line | None:
    """The only line with an operation that does not stand on the outputs of some modules, where it should.

    It is given something else than these outputs, or makes of something right what correct code does not. A line that
    does it rightly in another call is called with something wrong, and named is the one that calls it.
    """
    rows = known.find(trace.signatures)
    calls = [call for call in trace.calls if call.path in modules]
    outputs = trace.signatures[sorted({node for call in calls for node in call.outputs})]
    called = {call.path for call in calls} == set(modules)  # else these outputs are made in another way
    correct = {(source, row) for source, name, row in known.made_from if name == operation}
    usual: dict[Line | None, set[Line | None]] = {}  # the lines that do it rightly, and from where these are called
    others = []
    # An honest record has a few, with few inputs; a forged one could have thousands.
    for node in [node for node, name in enumerate(trace.operations) if name == operation][:MOST]:
        given = trace.inputs[node][:MOST]
        off = [np.abs(outputs - trace.signatures[one]).max(axis=1) for one in given]
        elsewhere = called and not any((one <= known_steps.LIMIT).any() for one in off)
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
