"""Results whose numbers are right, but stand in another order, or are too few or too many."""

from collections.abc import Iterable, Sequence

import numpy as np

from autograder.diagnosis.findings import Fault, Text
from autograder.diagnosis.known_steps import LIMIT, MEANS, ORDERED
from autograder.diagnosis.right_steps import MOST, TOGETHER, UNNAMED, Comparison
from autograder.diagnosis.usual_steps import Usual
from autograder.diagnosis.weak_tensors import WRITES
from autograder.sandbox.plain_values import LOOPED
from autograder.sandbox.traces import Line

MOVING = ("unsqueeze", "squeeze", "view", "reshape", "transpose", "permute", "movedim", "__getitem__")  # axes
PICKING = ("__getitem__", "index_select", "gather", "take_along_dim")


def wrong_results(seen: Comparison, text: Text) -> dict[Line, Fault]:
    """The lines behind results that are wrong though all that is computed is right: their number, order or axes."""
    as_many = len(seen.trace.results) == len(seen.known.results)
    found = wrong_number(seen, text) or wrong_order(seen, text) if as_many else {}
    return found or wrong_axes(seen, text)


def wrong_number(seen: Comparison, text: Text) -> dict[Line, Fault]:
    """The loop that makes too few or too many of what is put together in a result, if there is only one loop."""
    trace = seen.trace
    rows = seen.known.results
    for node, row, shape, right in zip(trace.results, rows, trace.shapes, seen.known.shapes, strict=True):
        inputs = trace.inputs[node]
        loops = {
            line
            for (line, name), (first, *_) in seen.series.items()
            if line and name.endswith(LOOPED) and not text.given(line) and trace.around[first] == trace.around[node]
        }
        put_together = trace.operations[node] in TOGETHER and len(inputs) > 1 and all(seen.proven[list(inputs)])
        if len(shape) == len(right) and len(loops) == 1 and put_together:
            differ = [own - other for own, other in zip(shape, right, strict=True) if own != other]
            # Places that are chosen in wrong tensors may be right ones by chance, and a loop then ends at another time.
            as_many = len(inputs) - max(0, *differ, 0)
            if len(differ) == 1 and _made_rightly(seen, inputs[:as_many]):
                return {line: Fault(line, short=True, often=differ[0]) for line in loops}
        if len(loops) == 1 and len(shape) == len(right) and _goes_on(seen, node, row):
            return {line: Fault(line, short=True, often=1) for line in loops}
    return {}


def _goes_on(seen: Comparison, node: int, right: int) -> bool:
    """Whether a node is the right result with something more behind it."""
    while seen.trace.operations[node] in TOGETHER and seen.trace.inputs[node]:
        node = seen.trace.inputs[node][0]
        if seen.rows[node] == right and not seen.alike[node]:
            return True
    return False


def _made_rightly(seen: Comparison, nodes: Iterable[int]) -> bool:
    """Whether nothing that nodes are made of is wrong."""
    waiting, known = list(nodes), set[int]()
    while waiting:
        node = waiting.pop()
        if not seen.fine[node]:
            return False
        if node not in known:
            known.add(node)
            waiting += seen.trace.inputs[node]
    return True


def is_behind_the_end(seen: Comparison, suspect: int) -> bool:
    """Whether all that should come back is made before a suspect, and its line has made something right before: a loop
    runs too often. Or whether what was given should come back as it is."""
    trace = seen.trace
    if trace.raised is not None or len(trace.results) != len(seen.known.results):
        return False
    telling = [node for node in range(suspect) if not seen.alike[node]]
    if {int(seen.rows[node]) for node in telling if not trace.made[node]}.issuperset(seen.known.results):
        return True
    there = {int(seen.rows[node]) for node in telling if trace.made[node]}
    again = any(seen.proven[node] for node in range(suspect) if trace.lines[node] == trace.lines[suspect])
    return again and trace.lines[suspect] is not None and there.issuperset(seen.known.results)


def fillers(seen: Comparison, node: int) -> tuple[Line, ...]:
    """The lines of a file that write into a tensor one after the other, if these are several."""
    trace, found = seen.trace, list[Line]()
    line = trace.lines[node]
    while trace.operations[node] == WRITES and trace.inputs[node]:
        at = trace.lines[node]
        found += [at] if at and line and at.file == line.file and at not in found else []
        node = trace.inputs[node][0]
    return tuple(sorted(found, key=lambda one: one.number)) if len(found) > 1 else ()


def is_in_other_shape(seen: Comparison, node: int) -> bool:
    """Whether correct code has the numbers of a node in the same order, in another shape."""
    rows = seen.known.rows[list(seen.alike_rows(node)), ORDERED:-1]
    off = np.abs(rows - seen.trace.signatures[node, ORDERED:-1])
    return bool((off <= LIMIT).all(axis=1).any())


def is_in_other_order(seen: Comparison) -> bool:
    """Whether the results hold the right numbers, but not all of them in the right order."""
    known, nodes = seen.known, list(seen.trace.results)
    if len(nodes) != len(known.results) or seen.plain[nodes].any() or seen.alike[nodes].any():
        return False
    own, right = seen.trace.signatures[nodes], known.rows[list(known.results)]
    alike = np.abs(own[:, :ORDERED] - right[:, :ORDERED]).max(axis=1) <= LIMIT
    return bool(alike.all() and (seen.rows[nodes] != known.results).any())


def wrong_axes(seen: Comparison, text: Text) -> dict[Line, Fault]:
    """The line that moves axes of a result, or puts some in, if those of size 1 stand where they should not."""
    trace, known = seen.trace, seen.known
    # Where an attribute is read, only that comes back; a call before it has results, too.
    first = max(0, len(known.results) - len(trace.results))
    for node, row, shape, right in zip(
        trace.results, known.results[first:], trace.shapes, known.shapes[first:], strict=False
    ):
        line, only_ones = trace.lines[node], [one for one in shape if one != 1] == [one for one in right if one != 1]
        if seen.rows[node] == row and shape != right and only_ones and trace.operations[node] in MOVING:
            return {line: Fault(line, axes=True)} if line and not text.given(line) else {}
    return {}


def wrong_order(seen: Comparison, text: Text) -> dict[Line, Fault]:
    """The lines that put the numbers of a result into another order than they should have."""
    trace, known = seen.trace, seen.known
    found: dict[Line, Fault] = {}
    for node, right in zip(trace.results, known.results, strict=True):
        line = trace.lines[node]
        off = np.abs(known.rows[right, :ORDERED] - trace.signatures[node, :ORDERED]).max()
        # Axes of size 1 come and go on lines that are not seen, as by a name: only the order of numbers is told.
        # And of a step it is not the order that is wrong: the next one is missing.
        if int(seen.rows[node]) in seen.named or _begins_unseen(seen, node):
            continue
        if trace.operations[node] in TOGETHER:  # the axes of what is put together decide about the order, too
            if line and not text.given(line) and int(seen.rows[node]) != right and off <= LIMIT:
                found[line] = Fault(line, order=UNNAMED, doubtful=True)
            continue
        if line and not text.given(line) and int(seen.rows[node]) != right and off <= LIMIT:
            first = _begins(seen, node, line)
            own = Fault(line, order=UNNAMED, node=node, rows=(right,))
            found[first] = own if first == line else Fault(first, order=UNNAMED, until=line)
    return found


def _begins_unseen(seen: Comparison, node: int) -> bool:
    """Whether the numbers of a node are made where nothing is seen, as inside vmap: their order may begin there."""
    made = {row for source, _, row in seen.known.made_from if source != row}
    while seen.trace.made[node]:
        same = [one for one in seen.trace.inputs[node] if seen.unordered[one] == seen.unordered[node]]
        if not same:
            return False
        node = same[0]
    return int(seen.rows[node]) in made


def order_begins(seen: Comparison, missing: Sequence[int], node: int, line: Line) -> Fault | None:
    """The earlier line on which the numbers of a missing step begin to stand in another order, if a node that holds
    others is made of these."""
    rows = {seen.known.steps[number].row for number in missing} - set(seen.alike_rows(node))
    first, found = None, list[int]()
    waiting = list(seen.trace.inputs[node])
    while waiting:
        source = waiting.pop()
        at = seen.trace.lines[source]
        if source in found or seen.plain[source] or rows.isdisjoint(seen.alike_rows(source)):
            continue
        found.append(source)
        # What picks by places that are made here, and changes nothing, should have changed the order.
        waiting += () if _picks_in_vain(seen, source) else seen.trace.inputs[source]
        first = at if at and at != line and (not first or at.number < first.number) else first
    if first is None:
        return None
    last = max(one for one in found if seen.trace.lines[one] == first)
    moved = any(seen.rows[one] != seen.rows[last] for one in found if one > last)
    name = seen.names(rows & set(seen.alike_rows(last)))
    until = line if moved else None
    return Fault(first, order=name[0] if name else UNNAMED, until=until, fillers=fillers(seen, last))


def _picks_in_vain(seen: Comparison, node: int) -> bool:
    """Whether a node picks elements of a tensor by places that are in a tensor, and leaves them as they are."""
    sources = seen.trace.inputs[node]
    picks = seen.trace.operations[node] in PICKING and len(sources) > 1
    return picks and bool(seen.trace.lines[node]) and seen.rows[sources[0]] == seen.rows[node]


def spread_wrongly(seen: Comparison, node: int) -> int | None:
    """The tensor with the numbers of a named step in another order that comes of two which are put together element by
    element, each along axes of its own: the axes of size 1 stand where those of the other one should."""
    size = seen.trace.signatures[:, MEANS]
    given = [source for source in seen.trace.inputs[node] if not seen.plain[source] and not seen.alike[source]]
    if len(given) != 2 or size[node] <= size[given].max():
        return None
    waiting = [node]
    for one in waiting:
        if seen.order(one) not in ("", UNNAMED):
            return one
        waiting += (
            []
            if len(waiting) > MOST
            else [user for user in seen.consumers[one] if seen.trace.lines[user] == seen.trace.lines[node]]
        )
    return None


def _begins(seen: Comparison, node: int, line: Line) -> Line:
    """The line of the same file on which numbers first stand in an order that no correct code has."""
    first, waiting, known = node, [node], set[int]()
    while waiting:
        one = waiting.pop()
        if one not in known and not seen.fine[one]:
            known.add(one)
            waiting += seen.trace.inputs[one]
            at = seen.trace.lines[one]
            first = min(first, one) if at and at.file == line.file else first
    return seen.trace.lines[first] or line


def comes_back(seen: Comparison, node: int) -> bool:
    """Whether the numbers of a node come back as they are, in some order."""
    row, ends, waiting, known = seen.unordered[node], set(seen.trace.results), [node], set[int]()
    while waiting:
        one = waiting.pop()
        if one in known:
            continue
        known.add(one)
        if seen.unordered[one] != row:
            return False
        if one in ends:
            return row not in seen.known.results
        waiting += [user for user in seen.consumers[one] if seen.flows[user]]
    return False


def is_put_beside(usual: Usual, node: int) -> bool:
    """Whether the numbers of a node are put, as they stand, beside something right, and give something wrong.

    Correct code puts the same numbers beside it, in an order of its own, by the same operation.
    """
    seen, waiting, known = usual.seen, [node], set[int]()
    while waiting and len(known) < MOST:
        one = waiting.pop()
        if one in known:
            continue
        known.add(one)
        for user in seen.consumers[one][:MOST]:
            if seen.unordered[user] == seen.unordered[node]:
                waiting.append(user)
                continue
            others = [other for other in seen.trace.inputs[user][:MOST] if other != one]
            rows = {int(seen.rows[other]) for other in others if seen.telling[other]}
            if seen.flows[user] and not seen.fine[user] and rows and -1 not in rows:
                operation = seen.trace.operations[user]
                if any(usual.together(operation, {row, *rows}) for row in seen.alike_rows(one)):
                    return True
    return False
