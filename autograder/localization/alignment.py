"""Find out which values of a recorded call are right, by comparing them with those of correct code in the same call.

A value is *right* if correct code computes the same value, or if something right was computed from it. The second rule
is needed because a correct program may compute things in a different way; wrong intermediate values do not lead to
right results. The first wrong values computed from right ones show where to look (`suspects`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autograder.localization.reference import MEANS, ReferenceTrace, constant, no_tensor, unusual
from autograder.localization.trace import Line, Trace
from autograder.worker.tracing.trace_recorder import GRADIENT, TRAINED
from autograder.worker.tracing.traced_values import OF_OTHERS, WHOLE

# Their results use only the shape of their input, or contain no numbers yet.
SHAPE_ONLY = ("_like", "new_full", "new_zeros", "new_ones", "new_empty", "_as")
UNFILLED = ("empty", "empty_like", "new_empty", "empty_strided", "eye")
RANDOM = ("rand", "randn", "rand_like", "bernoulli", "multinomial", "randint", "exponential_", "uniform_", "normal_")
# Many inputs give the same result, so a right result is not evidence that the input is right.
CHOOSING = (
    *("argmax", "argmin", "argsort", "multinomial", "isinf", "isnan", "isfinite", "sign", "nonzero", "bool"),
    *("eq", "ne", "lt", "le", "gt", "ge", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
)
# These may leave a tensor unchanged, for instance with an empty mask.
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
    """The nodes of a trace with the matching rows of the reference trace."""

    trace: Trace
    reference: ReferenceTrace
    rows: np.ndarray  # (n,) the row of the reference with the same value, or -1
    trivial: np.ndarray  # (n,) whether a match proves nothing: constants, sizes, positions
    plain: np.ndarray  # (n,) whether it is a number, string or list rather than a tensor
    tensors: bool  # whether there are tensors at all
    unknown: np.ndarray  # (n,) whether the value was not seen
    matched: np.ndarray  # (n,) whether it is certainly right
    right: np.ndarray  # (n,)
    weak: np.ndarray  # (n,) whether the match may be chance: masks, chosen positions, random numbers
    used: np.ndarray  # (n,) whether the result, or the exception, depends on it

    def row(self, node: int) -> int:
        """The row of a node; -1 if correct code computes no such value, -2 if a match proves nothing."""
        return -2 if self.trivial[node] or self.unknown[node] else int(self.rows[node])

    @cached_property
    def consumers(self) -> list[list[int]]:
        """For each node, the nodes computed from it."""
        return consumers(self.trace)

    @cached_property
    def steps_of_row(self) -> dict[int, list[int]]:
        """For each row, the named steps that compute the same numbers, in any shape."""
        steps: dict[int, list[int]] = {}
        telling = ~(no_tensor(self.reference.rows) & constant(self.reference.rows))
        for number, step in enumerate(self.reference.steps):
            if telling[step.row]:
                for row in self.reference.laid_out(step.row):
                    steps.setdefault(row, []).append(number)
        return steps

    def named(self, node: int) -> list[int]:
        """The named steps that a node computes."""
        return self.steps_of_row.get(int(self.rows[node]), []) if self.rows[node] >= 0 else []

    def named_before(self, node: int) -> set[int]:
        """The nearest named steps that a node is computed from."""
        nearest: set[int] = set()
        seen, waiting = set[int](), list(self.trace.inputs[node])
        while waiting:
            source = waiting.pop()
            if source in seen:
                continue
            seen.add(source)
            if steps := self.named(source):
                nearest.update(steps)
            else:
                waiting += self.trace.inputs[source]
        return nearest

    @cached_property
    def missing_steps(self) -> list[int]:
        """The first named steps that the call never computes, although it computes all their inputs."""
        present = {int(row) for row in self.rows if row >= 0}
        steps = self.reference.steps
        there = [not present.isdisjoint(self.reference.laid_out(step.row)) for step in steps]
        for number in range(len(steps) - 1, -1, -1):  # steps before a step that is present were computed, or bypassed
            if there[number]:
                for before in steps[number].after:
                    there[before] = True
        return [
            number
            for number, step in enumerate(steps)
            if not there[number] and all(there[before] for before in step.after)
        ]

    def lines_right(self, until: int, *, proved: bool = True) -> list[tuple[Line, tuple[str, ...]]]:
        """The lines whose values are all correct (not just by chance), in order, with the steps computed there.

        Args:
            until: the node to stop at.
            proved: whether the fault is known to be on another line. If not, a line is left out if something wrong is
                computed from its value: it may store the right numbers in the wrong shape, place or variable.
        """
        names: dict[Line, list[str]] = {}
        wrong: set[Line] = set()
        good = self.right & (~self.weak | self.matched)
        for node, line in enumerate(self.trace.lines):
            if line is None or not self.trace.made[node]:
                continue
            if not good[node] or not (proved or good[self.consumers[node]].all()):
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
    if tensors:  # if a call has tensors, its whole numbers and strings are sizes, positions and names
        trivial |= plain & ((values[:, -2] >= WHOLE) | (values[:, -1] == OF_OTHERS) | (np.abs(values[:, 0]) > 1 - 1e-6))
    users = consumers(trace)
    matched = _matched(trace, rows, trivial, alike, plain, users)
    weights = _weights(trace, rows, unknown)
    binary = _binary(values, plain)
    strange = _strange(trace, rows, trivial, plain & tensors)
    empty = np.array([name in UNFILLED + RANDOM for name in trace.operations], dtype=bool)
    right = matched | ~trace.made | empty | weights | (trivial & ~strange)
    if len(trace.ending.results) == len(reference.results):
        for node, row in zip(trace.ending.results, reference.results, strict=True):
            right[node] &= bool(unknown[node]) or (rows[node] == row if trivial[node] else rows[node] >= 0)
    for node in range(trace.size):  # a value that was not seen is as right as its inputs
        if (unknown[node] or _passed_on(trace, node, plain)) and not right[node]:
            right[node] = all(right[source] for source in trace.inputs[node])
    weak = _weak(trace, reference, rows, binary, trivial, alike & ~plain) & ~_shown(trace, matched, alike, users)
    weak |= np.array([name in RANDOM or name == TRAINED for name in trace.operations], dtype=bool)
    if len(trace.ending.results) == len(reference.results):
        weak[[node for node in trace.ending.results if rows[node] < 0]] = False
    seen = rows, trivial, plain, tensors, unknown, matched, right, weak & trace.made
    return Alignment(trace, reference, *seen, _used(trace))


def consumers(trace: Trace) -> list[list[int]]:
    """For each node, the nodes computed from it."""
    users: list[list[int]] = [[] for _ in range(trace.size)]
    for node, sources in enumerate(trace.inputs):
        for source in sources:
            users[source].append(node)
    return users


def _matched(
    trace: Trace, rows: np.ndarray, trivial: np.ndarray, alike: np.ndarray, plain: np.ndarray, users: list[list[int]]
) -> np.ndarray:
    """For each value, whether correct code computes it, or whether something right was computed from it."""
    matched = np.zeros(trace.size, dtype=bool)
    for node in range(trace.size - 1, -1, -1):
        shown = [user for user in users[node] if _shows(trace, rows, user, node)]
        slices = [user for user in shown if trace.operations[user] in SLICES]
        if not matched[slices].all():  # some slices of a wrong tensor may be right
            shown = [user for user in shown if user not in slices]
        shown = [user for user in shown if matched[user] and not (alike[user] and not plain[user])]
        matched[node] = (rows[node] >= 0 and not trivial[node]) or any(plain[user] <= plain[node] for user in shown)
    return matched


def _shows(trace: Trace, rows: np.ndarray, user: int, node: int) -> bool:
    """Whether a right result of an operation proves that its input was right."""
    name = trace.operations[user]
    if name in CHOOSING or name.endswith(SHAPE_ONLY):
        return False
    if name in WITH_PLACES and user and (trace.operations[user - 1], trace.inputs[user - 1]) == (name, (node,)):
        return False  # the positions, not the numbers
    if name == "to" and trace.inputs[user][0] != node:  # only its dtype is used
        return False
    same = rows[user] >= 0 and any(rows[source] == rows[user] for source in trace.inputs[user])
    return not (name in CONDITIONAL and same) or bool(rows[user] == rows[node])


def _shown(trace: Trace, matched: np.ndarray, alike: np.ndarray, users: list[list[int]]) -> np.ndarray:
    """For each value, whether something right was computed from it."""
    telling = matched & ~alike
    return np.array(
        [
            any(telling[user] and trace.operations[user] not in CHOOSING for user in consumed_by)
            for consumed_by in users
        ],
        dtype=bool,
    )


def _weights(trace: Trace, rows: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Mark weights, which are passed in and not examined, and values computed only from weights."""
    weights = ~trace.made & unknown
    for node, sources in enumerate(trace.inputs):
        right = trace.operations[node] == GRADIENT and rows[node] >= 0
        weights[node] |= bool(sources) and not right and all(weights[source] for source in sources)
    return weights


def _strange(trace: Trace, rows: np.ndarray, trivial: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Mark constant tensors that correct code lacks and that were computed from non-constant tensors."""
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
    """Whether a number is only passed on under a new name, for instance as an argument."""
    inputs = trace.inputs[node]
    return (
        bool(plain[node]) and len(inputs) == 1 and bool((trace.signatures[node] == trace.signatures[inputs[0]]).all())
    )


def _binary(values: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Mark tensors of zeros and ones. In a signature, 1 becomes 1/2, so the mean square is half the mean."""
    half = np.abs(values[:, 1] - values[:, 0] / 2) < 1e-9
    binary: np.ndarray = ~plain & half & (np.abs(values[:, 2] - values[:, 0] / 4) < 1e-9)
    return binary


def _weak(
    trace: Trace,
    reference: ReferenceTrace,
    rows: np.ndarray,
    binary: np.ndarray,
    trivial: np.ndarray,
    alike: np.ndarray,
) -> np.ndarray:
    """Mark values that may match by chance.

    These are masks that correct code lacks or also has in inverted form, positions chosen by argmax or sampling,
    tiny and huge numbers, and constants computed from other values.
    """
    means = np.nan_to_num(trace.signatures[:, :1], nan=9.0)
    opposite = reference.find(np.nan_to_num((0.5 - means) * 0.5 ** np.arange(MEANS), nan=9.0), MEANS) >= 0
    size = np.abs(means[:, 0])
    extreme = ((size > 1e-12) & (size < 1e-4)) | ((size > 1 - 1e-3) & (size < 1 - 1e-7))
    weak = (binary & ~trivial & ((rows < 0) | opposite)) | (alike & extreme)
    telling = unusual(np.nan_to_num(trace.signatures, nan=9.0)) & (rows >= 0)
    for node, sources in enumerate(trace.inputs):
        chosen = trace.operations[node] in ("argmax", "argmin", "multinomial")
        constants = alike[node] and not telling[node] and any(not trivial[source] for source in sources)
        weak[node] |= chosen or constants or bool(alike[node] and not telling[node] and weak[list(sources)].any())
    return weak


def _used(trace: Trace) -> np.ndarray:
    """For each node, whether the result of the call, or its exception, depends on it."""
    ends = trace.ending.raised if trace.ending.raised is not None else trace.ending.results
    used = np.zeros(trace.size, dtype=bool)
    used[list(ends) if ends else slice(None)] = True
    for node in range(trace.size - 1, -1, -1):
        if used[node]:
            used[list(trace.inputs[node])] = True
    return used
