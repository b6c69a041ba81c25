"""What statements of NumPy have made on their way, whose single operations no record shows."""

from typing import TYPE_CHECKING

from autograder.sandbox.plain_values import ARRAY

if TYPE_CHECKING:
    from autograder.diagnosis.right_steps import Comparison

OF_ARRAYS = (ARRAY, "from_numpy", "tensor", "as_tensor")  # these, and what torch makes of them


def inside_arrays(seen: "Comparison") -> set[int]:
    """The rows of which correct code makes what a statement of NumPy has made, whose operations are not seen."""
    arrays = [node for node, name in enumerate(seen.trace.operations) if name in OF_ARRAYS and not seen.alike[node]]
    if not arrays:
        return set()
    steps, before = seen.known.steps, dict[int, set[int]]()  # row of a step -> those of the steps before it
    for step in steps:
        earlier = {steps[number].row for number in step.after}
        before[step.row] = earlier.union(*(before.get(row, ()) for row in earlier))
    sources: dict[int, list[int]] = {}
    for source, _, row in seen.known.made_from:
        sources.setdefault(row, []).append(source)
    found = set[int]()
    for row in dict.fromkeys(seen.rows[arrays].tolist()):
        own, waiting = set[int](), {row}
        while waiting:
            waiting = {source for one in waiting for source in sources.get(one, ())} - own
            # As where correct code takes a part of what it has put together, to fill it.
            waiting -= {one for one in waiting if before.get(one, set()) & (own | waiting)}
            own |= waiting
        found |= own
    return found
