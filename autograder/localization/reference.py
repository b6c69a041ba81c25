"""The reference trace: what correct code computes in a call, as signatures of its tensors and names of its steps.

It is recorded from the reference, whose steps have names (see `named_steps`), and from other correct programs, which
compute things in different ways. A tensor is identified by its signature, so coding style and variable names do not
matter. For the visible tests, signatures are stored next to the expected tensors; the solution cannot be read from
them.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from autograder.localization.trace import Call, Trace
from autograder.worker.tracing.signature_weights import COLUMNS
from autograder.worker.tracing.traced_values import OF_OTHERS, SIMPLE

LIMIT = 3e-6  # between two signatures of the same tensor; rounding in float64 is far smaller
BEGINNING = 1500  # nodes taken from other correct programs if the call is too long to be recorded completely
# Fields that are stored unchanged.
PLAIN = ("calls", "returns", "counts", "results", "shapes", "given", "whole")
CALLS = "calls"  # the key of the string in the file's metadata
EDGES = ".made_from"  # suffix of a call's digest: the tensor with the edges of the data flow
MEANS = 4  # columns with means of the elements; the next column is the number of elements
ORDERED = 5  # signature columns from this one on depend on the order of the elements


Rows = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """A named step of a call."""

    name: str
    row: int  # its signature
    after: tuple[int, ...]  # the nearest named steps that it is computed from
    operation: str = ""  # the operation that computes it in the reference


@dataclass(frozen=True)
class ReferenceTrace:
    """What correct code computes in one call."""

    rows: np.ndarray  # (m, COLUMNS) signatures
    steps: tuple[Step, ...]
    calls: Mapping[str, tuple[Rows, ...]]  # module or function -> the inputs of its calls
    returns: Mapping[str, tuple[Rows, ...]]  # function -> its results
    counts: Mapping[str, int]  # module that all correct code calls, or whose weights it uses -> largest number of calls
    results: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...] = ()  # of the results
    given: tuple[str, ...] = ()  # provided functions, "module.Class.method": none of their lines is wrong
    whole: bool = True  # whether it includes the end of the call
    made_from: tuple[tuple[int, str, int], ...] = ()  # edges: a row, an operation on it, the row of the result

    def find(self, signatures: np.ndarray, columns: int = COLUMNS) -> np.ndarray:
        """The row of each signature, or -1; the first `columns` columns must agree."""
        low, high = self._near(signatures[:, 0])
        matches = np.full(len(signatures), -1)
        for number in np.flatnonzero(low < high):
            near = self._order[low[number] : high[number]]
            off = np.abs(self.rows[near, :columns] - signatures[number, :columns]).max(axis=1)
            if off.min() <= LIMIT:
                matches[number] = near[off.argmin()]
        return matches

    def laid_out(self, row: int) -> tuple[int, ...]:
        """The rows with the same numbers as this row, in the same order; shapes may differ, as in (B * H, T, T).

        If all the row's numbers are equal, only the row itself is returned.
        """
        if constant(self.rows[row : row + 1])[0]:
            return (row,)
        low, high = self._near(self.rows[row, 0])
        near = np.sort(self._order[low:high])
        off = np.abs(self.rows[near, :-1] - self.rows[row, :-1]).max(axis=1)
        return tuple(near[off <= LIMIT].tolist())

    @cached_property
    def _order(self) -> np.ndarray:
        """The row numbers, sorted by the first column, to find nearby rows quickly."""
        return np.argsort(self.rows[:, 0], kind="stable")

    @cached_property
    def _first(self) -> np.ndarray:
        return self.rows[self._order, 0]

    def _near(self, first: Any) -> tuple[Any, Any]:
        """The first and last position in `_order` of the rows whose first column is close to a number."""
        return np.searchsorted(self._first, first - LIMIT), np.searchsorted(self._first, first + LIMIT)


def constant(signatures: np.ndarray) -> np.ndarray:
    """Whether all elements of a tensor are equal: such a tensor proves nothing."""
    alike = np.abs(signatures[:, 1] - signatures[:, 0] ** 2) < 1e-10
    return np.where(no_tensor(signatures), signatures[:, -2] >= SIMPLE, alike)


def unusual(signatures: np.ndarray) -> np.ndarray:
    """Whether all elements of a tensor are the same number, and not a common one: 0, 1, -inf."""
    usual = np.isin(np.round(np.nan_to_num(signatures[:, 0]), 3), (-1.0, 0.0, 0.5, 1.0))
    result: np.ndarray = constant(signatures) & ~no_tensor(signatures) & ~usual & np.isfinite(signatures[:, 0])
    return result


def no_tensor(signatures: np.ndarray) -> np.ndarray:
    """Whether signatures belong to Python numbers, strings and lists."""
    result: np.ndarray = signatures[:, -1] > 1
    return result


def given_to(call: Call, rows: Callable[[int], int]) -> Rows:
    """The inputs of a call, as rows: in order for a function; sorted for a module, which may receive them by keyword.

    Args:
        rows: returns the row of a node; -2 if the node is ignored, since it has no numbers or they are all equal.
    """
    inputs = [row for node in call.inputs if (row := rows(node)) != -2]
    return tuple(inputs) if call.path.endswith("()") else tuple(sorted(set(inputs)))


def trace_of_reference(
    reference: Trace,
    others: Iterable[Trace] = (),
    given: Collection[str] = (),
    written: Collection[str] = (),
) -> ReferenceTrace:
    """The reference trace of a call, from the reference and other correct programs.

    Args:
        given: the provided functions, "module.Class.method".
        written: the functions that students write. Programs may differ in the inputs and results of all others.
    """
    agreed = {path.rpartition(".")[2] for path in (*given, *written)}
    agreed_calls = {call.path for call in reference.calls if _name(call.path) in agreed}
    table = _Table()
    row = table.row
    calls: dict[str, set[Rows]] = {}
    returns: dict[str, set[Rows]] = {}
    counts: list[Counter[str]] = []
    touched: list[set[str]] = []
    made_from: set[tuple[int, str, int]] = set()
    for trace in (reference, *others):
        usable = np.isfinite(trace.signatures[:, 0]) & ~constant(trace.signatures)
        last = trace.size if reference.ending.whole or trace is reference else BEGINNING
        telling = _telling_rows(trace, usable, last, row)
        made_from |= {
            (telling[source], trace.operations[node], number)
            for node, number in telling.items()
            for source in trace.inputs[node]
            if reference.ending.whole and source in telling
        }
        nodes = {node for call in trace.calls for node in (*call.inputs, *call.outputs)}
        looked = {node: row(trace.signatures[node]) if usable[node] else -2 for node in sorted(nodes)}
        for call in trace.calls:
            if call.path.endswith("()") and call.path not in agreed_calls:
                continue
            calls.setdefault(call.path, set()).add(given_to(call, looked.__getitem__))
            if call.returns:
                returns.setdefault(call.path, set()).add(tuple(looked[node] for node in call.outputs))
        if trace.ending.whole:
            counts.append(Counter(call.path for call in trace.calls if not call.path.endswith("()")))
            touched.append(modules_of(trace))
    always = set.intersection(set(counts[0]), *touched) if counts and reference.ending.whole else set()
    results = tuple(row(reference.signatures[node]) for node in reference.ending.results)
    steps = _steps(reference, row)
    return ReferenceTrace(
        np.array(table.rows, dtype=np.float32).astype(np.float64).reshape(-1, COLUMNS),
        steps,
        {path: tuple(sorted(sets)) for path, sets in calls.items()},
        {path: tuple(sorted(sets)) for path, sets in returns.items()},
        {path: max(count[path] for count in counts) for path in sorted(always)},
        results,
        reference.ending.shapes,
        tuple(given),
        reference.ending.whole,
        tuple(sorted(made_from)),
    )


class _Table:
    """The distinct signatures in several traces, numbered in the order in which they first occur."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []
        self._numbers: dict[tuple[float, ...], int] = {}

    def row(self, signature: np.ndarray) -> int:
        key = tuple(np.round(signature, 5))
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            self.rows.append(signature)
        return self._numbers[key]


def _telling_rows(trace: Trace, usable: np.ndarray, last: int, row: Callable[[np.ndarray], int]) -> dict[int, int]:
    """The rows of the nodes whose signature alone identifies a value. Every computed value gets a row.

    Constant tensors get rows too: they prove nothing, but they are not suspicious.
    """
    numbers, growing = no_tensor(trace.signatures), in_progress(trace)
    made = np.flatnonzero(trace.made & np.isfinite(trace.signatures[:, 0]))[:last]
    alone = usable | unusual(trace.signatures)
    rows = {int(node): row(trace.signatures[node]) for node in made if node not in growing}
    given = np.flatnonzero(~trace.made & usable & ~numbers)[:last]
    return {
        **{node: number for node, number in rows.items() if alone[node] and not numbers[node]},
        **{int(node): row(trace.signatures[node]) for node in given},
    }


def in_progress(trace: Trace) -> set[int]:
    """Lists and dictionaries that are still growing: a correct program need not have the same half-filled list."""
    others = no_tensor(trace.signatures) & (trace.signatures[:, -1] == OF_OTHERS)
    return {
        source
        for node in np.flatnonzero(others)
        for source in trace.inputs[node]
        if others[source] and trace.operations[source] == trace.operations[node]
    }


def modules_of(trace: Trace) -> set[str]:
    """The modules that are called or whose weights are used, and all modules that contain them."""
    weights = {name.rpartition(".")[0] for node, name in enumerate(trace.operations) if not trace.made[node]}
    paths = {call.path for call in trace.calls if not call.path.endswith("()")} | weights
    return {
        path[:end]
        for path in paths
        for end in (*(at for at, character in enumerate(path) if character == "."), len(path))
    }


def _name(path: str) -> str:
    """The name of a function in the path of its call: "forward" for "layers.0.forward()"."""
    return path.rpartition(".")[2].removesuffix("()")


def _steps(reference: Trace, row: Callable[[np.ndarray], int]) -> tuple[Step, ...]:
    named: dict[int, list[str]] = {}
    for name, node in reference.steps:
        named.setdefault(node, []).append(name)
    steps: list[Step] = []
    before: list[frozenset[int]] = []  # for each node, its nearest named steps
    for node in range(reference.size):
        nearest = frozenset().union(*(before[source] for source in reference.inputs[node]))
        for name in named.get(node, ()):
            operation = reference.operations[node]
            steps.append(Step(name, row(reference.signatures[node]), tuple(sorted(nearest)), operation))
            nearest = frozenset([len(steps) - 1])
        before.append(nearest)
    return tuple(steps)


def pack(traces: Mapping[str, ReferenceTrace]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Convert reference traces, keyed by the digests of their calls, into tensors and one string."""
    tensors: dict[str, np.ndarray] = {digest: known.rows.astype(np.float32) for digest, known in traces.items()}
    operations = {
        digest: sorted({operation for _, operation, _ in known.made_from}) for digest, known in traces.items()
    }
    for digest, known in traces.items():
        index = {name: number for number, name in enumerate(operations[digest])}
        edges = [(source, index[operation], row) for source, operation, row in known.made_from]
        tensors[digest + EDGES] = np.array(edges, dtype=np.int16).reshape(-1, 3)
    texts = {
        digest: json.dumps(
            {
                "steps": [list(asdict(step).values()) for step in known.steps],
                "operations": operations[digest],
                **{name: getattr(known, name) for name in PLAIN},
            },
            separators=(",", ":"),
        )
        for digest, known in traces.items()
    }
    # One metadata entry: the order of several entries changes from run to run.
    return tensors, {CALLS: json.dumps(texts)}


@cache
def read(path: Path, digest: str) -> ReferenceTrace | None:
    """The stored reference trace of a call in a stage; None if there is none."""
    from safetensors import safe_open

    if digest not in (texts := stored_calls(path)):
        return None
    entry = json.loads(texts[digest])
    with safe_open(path, "np") as file:
        rows, edges = file.get_tensor(digest).astype(np.float64), file.get_tensor(digest + EDGES).tolist()
    names = entry.pop("operations")
    return ReferenceTrace(
        rows,
        tuple(Step(name, row, tuple(after), made) for name, row, after, made in entry.pop("steps")),
        made_from=tuple((source, names[operation], row) for source, operation, row in edges),
        **{name: _as_tuples(entry[name]) for name in PLAIN},
    )


@cache
def stored_calls(path: Path) -> dict[str, str]:
    """The stored JSON strings of a stage's calls, by their digests; empty if there is no such file."""
    from safetensors import safe_open

    if not path.is_file():
        return {}
    with safe_open(path, "np") as file:
        texts: dict[str, str] = json.loads((file.metadata() or {}).get(CALLS, "{}"))
    return texts


def stored_file(expected: Path, stage: str) -> Path:
    """The file with the reference traces of a stage's visible tests."""
    return expected / f"{stage}.steps.safetensors"


def _as_tuples(value: Any) -> Any:
    """A value read from JSON, with tuples instead of lists."""
    if isinstance(value, dict):
        return {name: _as_tuples(item) for name, item in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
