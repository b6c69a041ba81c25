"""Which values of a recorded call are right, by comparing them with what correct code computes in the same call.

A value is *right* if correct code computes the same one, or if something right was computed from it: a program may take
a different road, and nothing right comes of a wrong number. The first wrong values, computed from right ones, are where
to look (`suspects`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autograder.localization.reference import MEANS, ReferenceTrace, constant, no_tensor, unusual
from autograder.localization.trace import Line, Trace
from autograder.worker.tracing.trace_recorder import GRADIENT, TRAINED
from autograder.worker.tracing.traced_values import OF_OTHERS, WHOLE

# Their results take only the shape of their input, or hold no numbers yet.
SHAPE_ONLY = ("_like", "new_full", "new_zeros", "new_ones", "new_empty", "_as")
UNFILLED = ("empty", "empty_like", "new_empty", "empty_strided", "eye")
RANDOM = ("rand", "randn", "rand_like", "bernoulli", "multinomial", "randint", "exponential_", "uniform_", "normal_")
# Many inputs have the same result: that is no evidence for the input.
CHOOSING = (
    *("argmax", "argmin", "argsort", "multinomial", "isinf", "isnan", "isfinite", "sign", "nonzero", "bool"),
    *("eq", "ne", "lt", "le", "gt", "ge", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
)
# May leave a tensor as it was, for instance with an empty mask.
CONDITIONAL = (
    "masked_fill",
    "masked_fill_",
    "where",
    "add",
    "add_",
    "sub",
    "mul",
    "div",
    "triu",
    "tril",
    "__setitem__",
)
WITH_PLACES = ("max", "min", "topk", "sort", "median", "mode", "kthvalue", "cummax", "cummin")  # return two tensors
SLICES = ("__getitem__", "unbind", "chunk", "split", "select", "narrow", "index_select", "tensor_split", "unflatten")


@dataclass(frozen=True)
class Alignment:
    """The nodes of a trace beside the rows of the reference trace."""

    trace: Trace
    reference: ReferenceTrace
    rows: np.ndarray  # (n,) the row of the reference with the same value, or -1
    trivial: np.ndarray  # (n,) whether a match says nothing: constants, sizes, places
    plain: np.ndarray  # (n,) whether it is a number, a text or a list, and no tensor
    tensors: bool  # whether there are tensors at all
    unknown: np.ndarray  # (n,) whether the value was not seen
    matched: np.ndarray  # (n,) whether it is right for sure
    right: np.ndarray  # (n,)
    weak: np.ndarray  # (n,) whether that may be chance: masks, chosen places, random numbers
    used: np.ndarray  # (n,) whether the result, or the exception, depends on it

    def row(self, node: int) -> int:
        """The row of a node; -1 if correct code has no such value, -2 if a match would say nothing."""
        return -2 if self.trivial[node] or self.unknown[node] else int(self.rows[node])

    @cached_property
    def consumers(self) -> list[list[int]]:
        """For each node, the nodes computed from it."""
        return consumers(self.trace)

    @cached_property
    def steps_of_row(self) -> dict[int, list[int]]:
        """The named steps that have a row's numbers, whatever their shape."""
        found: dict[int, list[int]] = {}
        telling = ~(no_tensor(self.reference.rows) & constant(self.reference.rows))
        for number, step in enumerate(self.reference.steps):
            if telling[step.row]:
                for row in self.reference.laid_out(step.row):
                    found.setdefault(row, []).append(number)
        return found

    def named(self, node: int) -> list[int]:
        """The named steps that a node is."""
        return self.steps_of_row.get(int(self.rows[node]), []) if self.rows[node] >= 0 else []

    def named_before(self, node: int) -> set[int]:
        """The nearest named steps that a node was computed from."""
        found: set[int] = set()
        seen, waiting = set[int](), list(self.trace.inputs[node])
        while waiting:
            source = waiting.pop()
            if source in seen:
                continue
            seen.add(source)
            if steps := self.named(source):
                found.update(steps)
            else:
                waiting += self.trace.inputs[source]
        return found

    @cached_property
    def missing_steps(self) -> list[int]:
        """The first named steps that the call never computes, although it computes all that they need."""
        present = {int(row) for row in self.rows if row >= 0}
        steps = self.reference.steps
        there = [not present.isdisjoint(self.reference.laid_out(step.row)) for step in steps]
        for number in range(len(steps) - 1, -1, -1):  # a step before one that is there was made, or gone round
            if there[number]:
                for before in steps[number].after:
                    there[before] = True
        return [number for number, step in enumerate(steps) if not there[number] and all(there[b] for b in step.after)]

    def lines_right(self, until: int) -> list[tuple[Line, tuple[str, ...]]]:
        """The lines, in order, whose values are all right and not by chance, with the named steps computed there."""
        names: dict[Line, list[str]] = {}
        wrong: set[Line] = set()
        for node, line in enumerate(self.trace.lines):
            if line is None or not self.trace.made[node]:
                continue
            if not self.right[node] or (self.weak[node] and not self.matched[node]):
                wrong.add(line)
            elif node < until:
                steps = [self.reference.steps[number].name for number in self.named(node)] if self.matched[node] else []
                names.setdefault(line, []).extend(steps[-1:])
        return [(line, tuple(dict.fromkeys(steps))) for line, steps in names.items() if line not in wrong]


def align(trace: Trace, reference: ReferenceTrace) -> Alignment:
    """Compare the values of a recorded call with those of the reference, by their signatures."""
    unknown = ~np.isfinite(trace.signatures).all(axis=1)
    values = np.nan_to_num(trace.signatures, nan=9.0)
    rows = reference.find(values)
    plain = no_tensor(values) & ~unknown
    alike = constant(values) & ~unknown
    tensors = bool((trace.made & ~plain).any())
    trivial = alike.copy()
    if tensors:  # beside tensors, whole numbers and texts are sizes, places and names
        trivial |= plain & ((values[:, -2] >= WHOLE) | (values[:, -1] == OF_OTHERS) | (np.abs(values[:, 0]) > 1 - 1e-6))
    users = consumers(trace)
    matched = _matched(trace, rows, trivial, alike, plain, users)
    weights = _weights(trace, rows, unknown)
    binary = _binary(values, plain)
    strange = _strange(trace, rows, trivial, plain & tensors)
    empty = np.array([name in UNFILLED + RANDOM for name in trace.operations], dtype=bool)
    right = matched | ~trace.made | empty | weights | (trivial & ~strange)
    if len(trace.results) == len(reference.results):
        for node, row in zip(trace.results, reference.results, strict=True):
            right[node] &= bool(unknown[node]) or (rows[node] == row if trivial[node] else rows[node] >= 0)
    for node in range(trace.size):  # a value that was not seen is as right as its inputs
        if (unknown[node] or _passed_on(trace, node, plain)) and not right[node]:
            right[node] = all(right[source] for source in trace.inputs[node])
    weak = _weak(trace, reference, rows, binary, trivial, alike & ~plain) & ~_shown(trace, matched, alike, users)
    weak |= np.array([name in RANDOM or name == TRAINED for name in trace.operations], dtype=bool)
    if len(trace.results) == len(reference.results):
        weak[[node for node in trace.results if rows[node] < 0]] = False
    seen = rows, trivial, plain, tensors, unknown, matched, right, weak & trace.made
    return Alignment(trace, reference, *seen, _used(trace))


def consumers(trace: Trace) -> list[list[int]]:
    """For each node, the nodes computed from it."""
    found: list[list[int]] = [[] for _ in range(trace.size)]
    for node, sources in enumerate(trace.inputs):
        for source in sources:
            found[source].append(node)
    return found


def _matched(
    trace: Trace, rows: np.ndarray, trivial: np.ndarray, alike: np.ndarray, plain: np.ndarray, users: list[list[int]]
) -> np.ndarray:
    """Whether correct code has a value, or something right was computed from it."""
    found = np.zeros(trace.size, dtype=bool)
    for node in range(trace.size - 1, -1, -1):
        shown = [user for user in users[node] if _shows(trace, rows, user, node)]
        slices = [user for user in shown if trace.operations[user] in SLICES]
        if not found[slices].all():  # some slices of a wrong tensor may be right
            shown = [user for user in shown if user not in slices]
        shown = [user for user in shown if found[user] and not (alike[user] and not plain[user])]
        found[node] = (rows[node] >= 0 and not trivial[node]) or any(plain[user] <= plain[node] for user in shown)
    return found


def _shows(trace: Trace, rows: np.ndarray, user: int, node: int) -> bool:
    """Whether a right result of an operation says that its input was right."""
    name = trace.operations[user]
    if name in CHOOSING or name.endswith(SHAPE_ONLY):
        return False
    if name in WITH_PLACES and user and (trace.operations[user - 1], trace.inputs[user - 1]) == (name, (node,)):
        return False  # the places, not the numbers
    if name == "to" and trace.inputs[user][0] != node:  # only its type is taken
        return False
    same = rows[user] >= 0 and any(rows[source] == rows[user] for source in trace.inputs[user])
    return not (name in CONDITIONAL and same) or bool(rows[user] == rows[node])


def _shown(trace: Trace, matched: np.ndarray, alike: np.ndarray, users: list[list[int]]) -> np.ndarray:
    """Whether something right was computed from a value."""
    telling = matched & ~alike
    return np.array(
        [any(telling[user] and trace.operations[user] not in CHOOSING for user in found) for found in users], dtype=bool
    )


def _weights(trace: Trace, rows: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Weights, which are given and not looked at, and what is computed from weights alone."""
    found = ~trace.made & unknown
    for node, sources in enumerate(trace.inputs):
        right = trace.operations[node] == GRADIENT and rows[node] >= 0
        found[node] |= bool(sources) and not right and all(found[source] for source in sources)
    return found


def _strange(trace: Trace, rows: np.ndarray, trivial: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Constant tensors that correct code does not have, computed from tensors that are not constant."""
    return np.array(
        [
            rows[node] < 0
            and not sizes[node]
            and not trace.operations[node].endswith(SHAPE_ONLY)
            and any(not trivial[source] for source in trace.inputs[node])
            for node in range(trace.size)
        ],
        dtype=bool,
    )


def _passed_on(trace: Trace, node: int, plain: np.ndarray) -> bool:
    """Whether a number only gets another name, for instance as an argument."""
    inputs = trace.inputs[node]
    return (
        bool(plain[node]) and len(inputs) == 1 and bool((trace.signatures[node] == trace.signatures[inputs[0]]).all())
    )


def _binary(values: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Tensors of zeros and ones: a one is squeezed to 1/2, and its square is half of that."""
    half = np.abs(values[:, 1] - values[:, 0] / 2) < 1e-9
    found: np.ndarray = ~plain & half & (np.abs(values[:, 2] - values[:, 0] / 4) < 1e-9)
    return found


def _weak(
    trace: Trace,
    reference: ReferenceTrace,
    rows: np.ndarray,
    binary: np.ndarray,
    trivial: np.ndarray,
    alike: np.ndarray,
) -> np.ndarray:
    """Values for which a match may be chance: masks that are unknown or whose opposite correct code has, too; chosen
    places; tiny and huge numbers; constants computed from others."""
    means = np.nan_to_num(trace.signatures[:, :1], nan=9.0)
    opposite = reference.find(np.nan_to_num((0.5 - means) * 0.5 ** np.arange(MEANS), nan=9.0), MEANS) >= 0
    size = np.abs(means[:, 0])
    extreme = ((size > 1e-12) & (size < 1e-4)) | ((size > 1 - 1e-3) & (size < 1 - 1e-7))
    found = (binary & ~trivial & ((rows < 0) | opposite)) | (alike & extreme)
    telling = unusual(np.nan_to_num(trace.signatures, nan=9.0)) & (rows >= 0)
    for node, sources in enumerate(trace.inputs):
        chosen = trace.operations[node] in ("argmax", "argmin", "multinomial")
        constants = alike[node] and not telling[node] and any(not trivial[source] for source in sources)
        found[node] |= chosen or constants or bool(alike[node] and not telling[node] and found[list(sources)].any())
    return found


def _used(trace: Trace) -> np.ndarray:
    """Whether the result of the call, or its exception, depends on a node."""
    ends = trace.raised if trace.raised is not None else trace.results
    found = np.zeros(trace.size, dtype=bool)
    found[list(ends) if ends else slice(None)] = True
    for node in range(trace.size - 1, -1, -1):
        if found[node]:
            found[list(trace.inputs[node])] = True
    return found
