"""Tensors that say too little: that correct code has one like it may be chance, unless something right came of it."""

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autograder.diagnosis.known_steps import LIMIT, MEANS, ORDERED, Known, arguments, given_to, no_tensor
from autograder.sandbox.plain_values import NAMED
from autograder.sandbox.signature_weights import BLOCK, PRIME, WEIGHTS
from autograder.sandbox.traces import TRAINED, Line, Trace

if TYPE_CHECKING:
    from autograder.diagnosis.right_steps import Comparison

WRITES = "__setitem__"
SHAPES = ("_like", "new_full", "new_zeros", "new_ones", "new_empty", "_as")  # take the shape of a tensor

# What gives the same for many tensors: places, and comparisons.
CHOOSING = (
    *("argmax", "argmin", "argsort", "multinomial", "isinf", "isnan", "isfinite", "sign", "nonzero", "bool"),
    *("eq", "ne", "lt", "le", "gt", "ge", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
)
# What gives no mask, even if all of it is zeros and ones.
COMPUTED = ("div", "truediv", "matmul", "bmm", "einsum", "linear", "softmax", "exp", "normalize", "mean", "pow")
UNIT = ("eye",)  # of a matrix like that there is little to doubt
WITH_PLACES = ("max", "min", "topk", "sort", "median", "mode", "kthvalue", "cummax", "cummin")  # beside the numbers
FORBIDDING = ("masked_fill", "masked_fill_", "where")
FEW = 4  # inputs of an operation that are looked at; twice as many places with the same mask
PLACES = ("argmax", "argmin", "multinomial")
MOVING = ("cat", "stack", "concat", "unsqueeze", "squeeze", "view", "reshape", "where", "masked_fill", "clone", "to")


def weak(seen: "Comparison") -> np.ndarray:
    """Tensors of zeros and ones, or of tiny or huge numbers, which a signature cannot tell, and random numbers."""
    trace, means = seen.trace, seen.trace.signatures[:, :3]
    with np.errstate(invalid="ignore"):
        size = np.abs(means[:, 0])
        extreme = ((size > 1e-12) & (size < 1e-4)) | ((size > 1 - 1e-3) & (size < 1 - 1e-7))
    # A mask is sure if correct code has it, and nowhere its opposite.
    mask = seen.binary & ~seen.alike & ((seen.rows < 0) | _by_chance(seen) | _computed(seen)) | seen.either_way
    users = [[user for user in found if seen.proven[user]] for found in seen.consumers]
    proven = np.array([any(seen.shows(user, node) for user in found) for node, found in enumerate(users)], dtype=bool)
    unit = np.array([operation in UNIT for operation in trace.operations], dtype=bool)
    found: np.ndarray = (seen.alike & ~seen.plain & extreme) | (mask & ~unit) | _from_unlike(seen)
    trained = np.array([operation == TRAINED for operation in trace.operations], dtype=bool)
    found = trace.made & ((found | _chosen(trace)) & ~proven | seen.drawn | trained)
    for node, sources in enumerate(trace.inputs):  # nor does what is made of such a one alone
        known = seen.telling[node] and seen.rows[node] >= 0
        found[node] |= seen.alike[node] and not seen.plain[node] and not known and bool(found[list(sources)].any())
    if not seen.tensors:
        _numbers(seen, found, proven)
    if len(trace.results) == len(seen.known.results):  # what these should be is known
        found[[node for node in trace.results if seen.rows[node] < 0]] = False
    return found


def numbers_to_tell(trace: Trace, known: Known, turning: Container[Line] = ()) -> dict[Line, dict[str, float]]:
    """The local variables of lines that are numbers, without zeros and those that correct code has as well.

    Args:
        turning: lines that bring numbers into another order: there also sizes may stand one in the place of another.
    """
    named = np.array([name.endswith(NAMED) for name in trace.operations], dtype=bool) & no_tensor(trace.signatures)
    nodes = np.flatnonzero(named)
    rows = known.find(trace.signatures[nodes])
    other = {trace.operations[node].removesuffix(NAMED) for node, row in zip(nodes, rows, strict=True) if row < 0}
    return {
        line: {name: value for name, value in numbers.items() if value and (name in other or line in turning)}
        for line, numbers in trace.numbers.items()
    }


def either_way(seen: "Comparison") -> np.ndarray:
    """Masks of which correct code has the opposite, too."""
    means = seen.trace.signatures[:, :1]
    opposite = np.nan_to_num((0.5 - means) * 0.5 ** np.arange(MEANS), nan=9.0)
    computed = np.array([name in COMPUTED for name in seen.trace.operations], dtype=bool)
    found: np.ndarray = seen.binary & ~seen.alike & ~computed & (seen.known.find(opposite, MEANS) >= 0)
    return found


def is_opposite(seen: "Comparison", node: int) -> bool:
    """Whether correct code has the opposite of a mask, in the same order; of a very large one that is not seen."""
    own = seen.trace.signatures[node]
    size = round(float(own[MEANS]) * PRIME)
    if not 0 < size <= BLOCK:
        return False
    means = (0.5 - own[0]) * 0.5 ** np.arange(MEANS)
    order = 0.5 * WEIGHTS[:, :size].sum(axis=1) / size - own[ORDERED : ORDERED + len(WEIGHTS)]
    opposite = np.concatenate([means, own[MEANS:ORDERED], order, own[ORDERED + len(WEIGHTS) :]])
    return bool(seen.known.find(opposite[None])[0] >= 0)


def _computed(seen: "Comparison") -> np.ndarray:
    """Zeros and ones that come of arithmetic by which no correct code makes such ones: weights of a single key each."""
    makes: dict[int, set[str]] = {}
    for _, operation, row in seen.known.made_from:
        makes.setdefault(row, set()).add(operation)
    names = zip(seen.trace.operations, seen.rows.tolist(), strict=True)
    return np.array([name in COMPUTED and name not in makes.get(row, ()) for name, row in names], dtype=bool)


def _chosen(trace: Trace) -> np.ndarray:
    """Places that were chosen, such as tokens, and what is put together of them."""
    found = np.zeros(trace.size, dtype=bool)
    for node, sources in enumerate(trace.inputs):
        moved = trace.operations[node] in MOVING and bool(found[list(sources)].any())
        found[node] = trace.operations[node] in PLACES or moved
    return found


def _by_chance(seen: "Comparison") -> np.ndarray:
    """What correct code has as well, but does not make so of what this is made from."""
    found = np.zeros(seen.trace.size, dtype=bool)
    for node, sources in enumerate(seen.trace.inputs):
        uses = [own for source in sources if (own := seen.uses.get(int(seen.rows[source])))]
        made = [own.get(seen.trace.operations[node], ()) for own in uses]
        found[node] = bool(uses) and not any(int(seen.rows[node]) in rows for rows in made)
    return found


def _numbers(seen: "Comparison", found: np.ndarray, proven: np.ndarray) -> None:
    """Small numbers prove little, but the end of a series says what its beginning is worth."""
    names = arguments(seen.trace)
    for nodes in seen.series.values():
        wrong = seen.rows[nodes[-1]] < 0
        if wrong or seen.alike[nodes[-1]]:
            for one in nodes:
                usual = proven[one] or (int(seen.rows[one]), names.get(one)) in seen.known.simple
                found[one] |= seen.alike[one] and bool(seen.trace.inputs[one]) and (wrong or not usual)


def binary(trace: Trace, plain: np.ndarray) -> np.ndarray:
    """Tensors of zeros and ones: a one is squeezed to 1/2, and its square is half of it."""
    means = np.nan_to_num(trace.signatures[:, :3], nan=9.0)
    half = np.abs(means[:, 1] - means[:, 0] / 2) < 1e-9
    found: np.ndarray = ~plain & half & (np.abs(means[:, 2] - means[:, 0] / 4) < 1e-9)
    return found


def _from_unlike(seen: "Comparison") -> np.ndarray:
    """Tensors of alike elements made from others: that correct code has such a one may be chance."""
    trace = seen.trace
    return np.array(
        [
            seen.alike[node]
            and not seen.plain[node]
            and (trace.operations[node] in CHOOSING or not (seen.telling[node] and seen.rows[node] >= 0))
            and not trace.operations[node].endswith(SHAPES)
            and any(not seen.alike[source] and not seen.plain[source] for source in trace.inputs[node])
            for node in range(trace.size)
        ],
        dtype=bool,
    )


def rests_on_weak(seen: "Comparison", node: int) -> bool:
    """Whether the line of a node uses something of another line that says too little."""
    if _misplaced(seen, node):
        return False
    if _spread(seen, node):
        return True
    waiting, line, known = list(seen.trace.inputs[node]), seen.trace.lines[node], set[int]()
    alike = tells = False  # what it uses: tensors of alike elements, such as one place, and others
    while waiting:
        source = waiting.pop()
        if source in known:
            continue
        known.add(source)
        if seen.trace.lines[source] == line:
            waiting += seen.trace.inputs[source]
        elif _doubtful(seen, source) or seen.misused(source, node):
            return True
        elif not seen.plain[source]:
            alike |= bool(seen.alike[source] and seen.trace.made[source])
            tells |= bool(not seen.alike[source] and not seen.unknown[source])
    return alike and not tells


def by_chance(seen: "Comparison", node: int, first_line: Callable[[int], Line | None]) -> bool:
    """Whether a node is made of masks alone, or its mask has the numbers of what another line makes.

    Args:
        first_line: the line that made what a node is.
    """
    given, rows = seen.trace.inputs[node][:FEW], seen.rows
    masks = [one for one in given if seen.binary[one] and rows[one] >= 0]
    alike = [np.flatnonzero(rows == rows[one])[: 2 * FEW] for one in masks]
    several = any(len({first_line(int(one)) for one in nodes} - {None}) > 1 for nodes in alike)
    return (several and seen.trace.operations[node] in FORBIDDING) or 0 < len(masks) == len(given)


def negatives(seen: "Comparison") -> np.ndarray:
    """The row of the negative of each tensor that was made, or -1."""
    signatures = seen.trace.signatures[seen.trace.made & ~seen.alike & ~seen.plain].copy()
    signatures[:, [0, 2]] *= -1  # the means of odd powers
    signatures[:, ORDERED : ORDERED + len(WEIGHTS)] *= -1
    return seen.known.find(signatures)


def picks(seen: "Comparison", node: int) -> bool:
    """Whether a node holds those elements of a tensor that a mask allows: these may be picked at any step."""
    picking = seen.trace.operations[node] in ("__getitem__", "masked_select")
    return picking and any(seen.binary[one] and seen.fine[one] for one in seen.trace.inputs[node][1:])


def passes_a_number_on(seen: "Comparison", node: int) -> bool:
    """Whether a node is made with a number that another line makes of one that it only passes on, as by `min`."""
    trace, own = seen.trace, seen.trace.lines[node]
    numbers = [one for one in trace.inputs[node] if seen.plain[one] and trace.made[one] and trace.lines[one] != own]
    return any((trace.signatures[one] == trace.signatures[last]).all() for one in numbers for last in trace.inputs[one])


def unseen(seen: "Comparison", node: int) -> bool:
    """Whether a tensor of the student's object is not that of correct code, and it was not seen how it was made."""
    own = seen.trace.operations[node] and not (seen.trace.made[node] or seen.plain[node] or seen.unknown[node])
    return bool(own and seen.rows[node] < 0)


def common_causes(seen: "Comparison", nodes: Sequence[int]) -> dict[int, int]:
    """The first wrong nodes that several lines make of the same tensor of alike elements: what is wrong is this one."""
    trace, found = seen.trace, dict[int, set[int]]()
    for node in nodes:
        waiting, known = list(trace.inputs[node]), set[int]()
        while waiting:
            source = waiting.pop()
            if source in known or not trace.made[source]:
                continue
            known.add(source)
            if trace.lines[source] == trace.lines[node]:
                waiting += trace.inputs[source]
            elif (
                seen.alike[source]
                and not (seen.plain[source] or seen.proven[source])
                and all(seen.fine[one] for one in trace.inputs[source])
            ):
                found.setdefault(source, set()).add(node)
    several = {cause: own for cause, own in found.items() if len({trace.lines[node] for node in own}) > 1}
    return {node: cause for cause, own in several.items() for node in own}


def _spread(seen: "Comparison", node: int) -> bool:
    """Whether a tensor is larger than all that it is made of: where their axes of size 1 stand is not seen."""
    sizes = seen.trace.signatures[[node, *seen.trace.inputs[node]], MEANS]
    return seen.trace.operations[node] in ("masked_fill", "where", "add", "sub", "mul", "div") and bool(
        len(sizes) > 2 and (sizes[0] > sizes[1:] + LIMIT).all() and seen.unordered[node] < 0
    )


def _misplaced(seen: "Comparison", node: int) -> bool:
    """Whether a module makes a node of something right that correct code never gives to it."""
    number = int(seen.trace.around[node])
    entry = seen.trace.calls[number] if number >= 0 else None
    if entry is None or set(entry.inputs) != set(seen.trace.inputs[node]):
        return False
    rows, sets = set(given_to(entry, seen.row)), seen.known.calls.get(entry.path, ())
    return bool(sets) and -1 not in rows and all(rows - set(one) for one in sets)


def _doubtful(seen: "Comparison", node: int) -> bool:
    """Whether a node says too little, comes from elsewhere, or is left as it was by one that says too little."""
    if seen.weak[node] or _from_elsewhere(seen, node):
        return True
    # Tensors of alike elements are taken for right; whether there should be so many is not known.
    if seen.alike[node] and seen.trace.made[node] and not seen.plain[node] and seen.rows[node] < 0:
        return True
    # A place that is chosen in a wrong tensor may be a right one by chance.
    if seen.trace.operations[node] in PLACES and not all(seen.fine[source] for source in seen.trace.inputs[node]):
        return True
    if seen.counts(node) and seen.alike[node] and not seen.proven[node]:
        return True
    # What is written into a tensor and is there already may be the wrong number.
    writes = seen.trace.operations[node] == WRITES
    return seen.idle(node) and (writes or any(seen.weak[source] for source in seen.trace.inputs[node]))


def _from_elsewhere(seen: "Comparison", node: int) -> bool:
    """Whether it is not seen how a node is made: by NumPy, or inside vmap."""
    if seen.unknown[node]:
        return bool(seen.trace.made[node])
    return not seen.trace.made[node] and not seen.plain[node] and not (seen.fine[node] and seen.rows[node] >= 0)
