"""The line on which a result begins to change from call to call: it draws random numbers, or uses what a call left."""

import numpy as np

from autograder.diagnosis.known_steps import LIMIT
from autograder.sandbox.traces import Line, Trace


def random_line(first: Trace, second: Trace) -> Line | None:
    """The first line that makes different numbers of the same inputs in two records of the same call."""
    off = [not _same(a, b) for a, b in zip(first.signatures, second.signatures, strict=False)]
    for node, changed in enumerate(off):
        if first.operations[node] != second.operations[node] or first.inputs[node] != second.inputs[node]:
            return None
        if changed and first.made[node] and not any(off[source] for source in first.inputs[node]):
            return first.lines[node]
    return None


def kept_line(fresh: Trace, later: Trace) -> Line | None:
    """The first line that uses a tensor which only an object has that was called before.

    Args:
        fresh: the record of a call on a new object.
        later: that of the same call on one that was called before.
    """
    given = fresh.signatures[~fresh.made]
    for node, sources in enumerate(later.inputs):
        for source in sources:
            # What has a name here is a weight.
            if later.made[source] or later.operations[source] or not np.isfinite(later.signatures[source]).all():
                continue
            if not any(_same(one, later.signatures[source]) for one in given):
                return later.lines[node]
    return None


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    if not np.isfinite(one).all() or not np.isfinite(other).all():
        return not np.isfinite(one).all() and not np.isfinite(other).all()
    return bool(np.abs(one - other).max() <= LIMIT)
