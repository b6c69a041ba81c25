"""Lines that put an axis of size 1 somewhere, which no signature sees: they are not called right where axes meet."""

from collections.abc import Mapping
from dataclasses import replace

from autograder.diagnosis.code_text import text_of
from autograder.diagnosis.findings import Finding
from autograder.sandbox.traces import Line, Trace

MOST = 30  # inputs of an operation that are looked at where something stands elsewhere
MEETING = ("add", "sub", "mul", "div", "eq", "ne", "lt", "gt", "le", "ge", "maximum", "minimum", "where", "masked_fill")
AXES = ("None", "unsqueeze", "view(", "reshape(")  # that put in axes of size 1, or may do so


def with_doubtful_axes(finding: Finding, trace: Trace, sources: Mapping[str, str]) -> Finding:
    """What follows, without calling lines right that put an axis of size 1 somewhere, where it meets other axes in what
    a wrong line computes element by element: where such an axis stands is not seen."""
    wrong = {fault.line for fault in finding.faults}
    doubtful: dict[Line, set[Line]] = {line: set() for line in wrong}
    for node, at in enumerate(trace.lines):
        if at in wrong and trace.operations[node] in MEETING:
            waiting = list(trace.inputs[node][:MOST])
            for source in waiting:  # a comparison on the same line has its axes from other lines, too
                line = trace.lines[source]
                waiting += trace.inputs[source][:MOST] if line == at and len(waiting) < MOST else ()
                if line and line not in wrong and any(axis in text_of(line, sources) for axis in AXES):
                    doubtful[at].add(line)
    every = {line for lines in doubtful.values() for line in lines}
    right = tuple(one for one in finding.right if one[0] not in every)
    faults = tuple(replace(one, doubtful=one.doubtful or bool(doubtful[one.line])) for one in finding.faults)
    return replace(finding, right=right, unsure=finding.unsure | every, faults=faults)
