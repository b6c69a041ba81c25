"""The line that makes the first NaN of a call, if it is to blame for it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from autograder.diagnosis.findings import Fault, goes_own_way
from autograder.diagnosis.right_steps import Comparison
from autograder.diagnosis.weak_tensors import rests_on_weak
from autograder.sandbox.traces import Line

INFINITE = "an infinite number"
NO_NUMBER = {  # how an operation makes NaN of what is none
    "mul": f"0 times {INFINITE}",
    "div": f"0 divided by 0, or {INFINITE} by another one",
    "truediv": f"0 divided by 0, or {INFINITE} by another one",
    "sub": f"{INFINITE} minus another one",
    "softmax": "softmax of infinite scores, as where all of a row are -inf",
    "log_softmax": "log_softmax of infinite scores, as where all of a row are -inf",
    "log": "the logarithm of a number below 0",
    "sqrt": "the root of a number below 0",
}
GROWING = ("exp", "pow")  # make infinite numbers of large ones


def with_nan(
    seen: Comparison, suspects: Sequence[int], faults: dict[Line, Fault], given: Callable[[Line], bool]
) -> tuple[dict[Line, Fault], Fault | None]:
    """The faults of a call that gives back NaN: those before it, or the line that makes it.

    None if correct code comes upon the same NaN, or what goes in says too little: then the line is only where it
    comes up.

    Args:
        given: whether a line is of a given function.
    """
    trace = seen.trace
    made = np.flatnonzero(trace.nan & trace.made & seen.flows)
    first = next((int(node) for node in made if not trace.nan[list(trace.inputs[node])].any()), None)
    line = trace.lines[first] if first is not None else None
    if first is None or line is None or given(line):
        return {}, None
    if any(fault.vain for fault in faults.values()):
        return faults, None
    own_ways = all(map(goes_own_way, faults.values()))  # of which it is not sure that they are wrong
    if seen.rows[first] < 0 and any(node < first for node in suspects) and not own_ways:
        return faults, None
    if seen.rows[first] >= 0 or rests_on_weak(seen, first):
        return {}, Fault(line, nan=True, not_number=_computed_as(seen, first))
    return {line: replace(faults.get(line, Fault(line)), nan=True, not_number=_computed_as(seen, first))}, None


def _computed_as(seen: Comparison, node: int) -> str:
    """What NaN is computed as by an operation that is given none, if that is sure."""
    operations, inputs = seen.trace.operations, seen.trace.inputs[node]
    told = NO_NUMBER.get(operations[node].rstrip("_"), "")
    grown = [one for one in inputs if operations[one].rstrip("_") in GROWING]
    if told == NO_NUMBER["mul"] and len(inputs) == 2 and len(grown) == 1:
        [other] = {*inputs} - {*grown}
        told += f", which {operations[grown[0]].rstrip('_')}() makes of a large one" if seen.binary[other] else ""
    return told
