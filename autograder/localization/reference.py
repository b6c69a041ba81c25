"""What correct code computes on the way to the result of a call: signatures of its tensors, and names of its steps.

They come from following the reference, where steps have names (see `named_steps`), and other correct code, which takes
other roads. A tensor is known by its signature, so neither the way in which code is written nor the names of its
variables matter. For the visible tests they are stored beside the expected tensors: signatures only, from which the
solution cannot be read.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from autograder.localization.trace import COLUMNS, Call, Trace
from autograder.worker.tracing.traced_values import OF_OTHERS, SIMPLE

LIMIT = 3e-6  # between two signatures of the same tensor; rounding in float64 stays far below
BEGINNING = 1500  # nodes that are taken of other correct code in a call that is too long to be recorded
# What is stored as it is.
PLAIN = ("calls", "returns", "counts", "results", "shapes", "given", "whole")
CALLS = "calls"  # the name of the text beside the tensors
EDGES = ".made_from"  # behind the digest of a call: the name of the tensor that holds what is made from what
MEANS = 4  # columns that hold means of the elements; then comes their number
ORDERED = 5  # columns of a signature from this one on see the order of the elements


Rows = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """A named step of a call."""

    name: str
    row: int  # its signature
    after: tuple[int, ...]  # the named steps that it is made from, without those before them
    operation: str = ""  # what makes it in the reference


@dataclass(frozen=True)
class ReferenceTrace:
    """What correct code computes in one call."""

    rows: np.ndarray  # (m, COLUMNS) signatures
    steps: tuple[Step, ...]
    calls: Mapping[str, tuple[Rows, ...]]  # module or function -> what goes into its calls
    returns: Mapping[str, tuple[Rows, ...]]  # function -> what it returns
    counts: Mapping[str, int]  # module that all correct code calls, or uses the weights of -> how often at most
    results: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...] = ()  # of the results
    given: tuple[str, ...] = ()  # functions that are given, "module.Class.method": no line of them is wrong
    whole: bool = True  # whether it reaches the end of the call
    made_from: tuple[tuple[int, str, int], ...] = ()  # a row, an operation, and the row that it makes of it

    def find(self, signatures: np.ndarray, columns: int = COLUMNS) -> np.ndarray:
        """The row of each signature, or -1; the first `columns` have to agree."""
        low, high = self._near(signatures[:, 0])
        found = np.full(len(signatures), -1)
        for number in np.flatnonzero(low < high):
            near = self._order[low[number] : high[number]]
            off = np.abs(self.rows[near, :columns] - signatures[number, :columns]).max(axis=1)
            if off.min() <= LIMIT:
                found[number] = near[off.argmin()]
        return found

    def laid_out(self, row: int) -> tuple[int, ...]:
        """The rows that hold the numbers of one in the same order, whatever their shape: as with (B * H, T, T) scores.

        Nothing but the row itself where all its numbers are alike.
        """
        if constant(self.rows[row : row + 1])[0]:
            return (row,)
        low, high = self._near(self.rows[row, 0])
        near = np.sort(self._order[low:high])
        off = np.abs(self.rows[near, :-1] - self.rows[row, :-1]).max(axis=1)
        return tuple(near[off <= LIMIT].tolist())

    @cached_property
    def _order(self) -> np.ndarray:
        """The rows in the order of their first column, in which near ones are found quickly."""
        return np.argsort(self.rows[:, 0], kind="stable")

    @cached_property
    def _first(self) -> np.ndarray:
        return self.rows[self._order, 0]

    def _near(self, first: Any) -> tuple[Any, Any]:
        """From where to where the rows stand, in that order, whose first column is near a number."""
        return np.searchsorted(self._first, first - LIMIT), np.searchsorted(self._first, first + LIMIT)


def constant(signatures: np.ndarray) -> np.ndarray:
    """Whether all elements of a tensor are alike: nothing can be concluded from such a tensor."""
    alike = np.abs(signatures[:, 1] - signatures[:, 0] ** 2) < 1e-10
    return np.where(no_tensor(signatures), signatures[:, -2] >= SIMPLE, alike)


def unusual(signatures: np.ndarray) -> np.ndarray:
    """Whether all elements of a tensor are the same number, which is none of those that are everywhere: 0, 1, -inf."""
    usual = np.isin(np.round(np.nan_to_num(signatures[:, 0]), 3), (-1.0, 0.0, 0.5, 1.0))
    found: np.ndarray = constant(signatures) & ~no_tensor(signatures) & ~usual & np.isfinite(signatures[:, 0])
    return found


def no_tensor(signatures: np.ndarray) -> np.ndarray:
    """Whether signatures are of numbers, texts and lists of Python."""
    found: np.ndarray = signatures[:, -1] > 1
    return found


def given_to(call: Call, rows: Callable[[int], int]) -> Rows:
    """What goes into a call, by rows: of a function in order, of a module (whose arguments may have names) sorted.

    Args:
        rows: the row of a node; -2 if it is not looked at, since it has no numbers or they are all alike.
    """
    found = [row for node in call.inputs if (row := rows(node)) != -2]
    return tuple(found) if call.path.endswith("()") else tuple(sorted(set(found)))


def trace_of_reference(
    reference: Trace,
    others: Iterable[Trace] = (),
    given: Collection[str] = (),
    written: Collection[str] = (),
) -> ReferenceTrace:
    """What the reference and other correct code compute in a call.

    Args:
        given: the functions that are given, "module.Class.method".
        written: those that students write. What goes into others and comes out of them is anybody's own affair.
    """
    agreed = {path.rpartition(".")[2] for path in (*given, *written)}
    agreed_calls = {one.path for one in reference.calls if _name(one.path) in agreed}
    index: dict[tuple[float, ...], int] = {}
    rows: list[np.ndarray] = []

    def row(signature: np.ndarray) -> int:
        key = tuple(np.round(signature, 5))
        if key not in index:
            index[key] = len(rows)
            rows.append(signature)
        return index[key]

    calls: dict[str, set[Rows]] = {}
    returns: dict[str, set[Rows]] = {}
    counts: list[Counter[str]] = []
    touched: list[set[str]] = []
    made_from: set[tuple[int, str, int]] = set()
    for trace in (reference, *others):
        last = trace.size if reference.whole or trace is reference else BEGINNING
        usable = np.isfinite(trace.signatures[:, 0]) & ~constant(trace.signatures)
        alone = usable | unusual(trace.signatures)
        numbers = no_tensor(trace.signatures)
        # Those of alike elements are rows too: nothing is proven by them, but they are nothing strange.
        made = np.flatnonzero(trace.made & np.isfinite(trace.signatures[:, 0]))[:last]
        growing = in_progress(trace)
        of_node = {int(node): row(trace.signatures[node]) for node in made if node not in growing}
        telling = {node: number for node, number in of_node.items() if alone[node] and not numbers[node]}
        begins = np.flatnonzero(~trace.made & usable & ~numbers)[:last]
        telling |= {int(node): row(trace.signatures[node]) for node in begins}
        made_from |= {
            (telling[source], trace.operations[node], number)
            for node, number in telling.items()
            for source in trace.inputs[node]
            if reference.whole and source in telling
        }
        nodes = {node for one in trace.calls for node in (*one.inputs, *one.outputs)}
        looked = {node: row(trace.signatures[node]) if usable[node] else -2 for node in sorted(nodes)}
        for call in trace.calls:
            if call.path.endswith("()") and call.path not in agreed_calls:
                continue
            calls.setdefault(call.path, set()).add(given_to(call, looked.__getitem__))
            if call.returns:
                returns.setdefault(call.path, set()).add(tuple(looked[node] for node in call.outputs))
        if trace.whole:
            counts.append(Counter(call.path for call in trace.calls if not call.path.endswith("()")))
            touched.append(modules_of(trace))
    always = set.intersection(set(counts[0]), *touched) if counts and reference.whole else set()
    results = tuple(row(reference.signatures[node]) for node in reference.results)
    steps = _steps(reference, row)
    return ReferenceTrace(
        np.array(rows, dtype=np.float32).astype(np.float64).reshape(-1, COLUMNS),
        steps,
        {path: tuple(sorted(sets)) for path, sets in calls.items()},
        {path: tuple(sorted(sets)) for path, sets in returns.items()},
        {path: max(one[path] for one in counts) for path in sorted(always)},
        results,
        reference.shapes,
        tuple(given),
        reference.whole,
        tuple(sorted(made_from)),
    )


def in_progress(trace: Trace) -> set[int]:
    """Lists and dictionaries that go on to grow: half of one is nothing that another program should end with."""
    others = no_tensor(trace.signatures) & (trace.signatures[:, -1] == OF_OTHERS)
    return {
        source
        for node in np.flatnonzero(others)
        for source in trace.inputs[node]
        if others[source] and trace.operations[source] == trace.operations[node]
    }


def modules_of(trace: Trace) -> set[str]:
    """The modules that are called, or whose weights are used, with all the modules around these."""
    weights = {name.rpartition(".")[0] for node, name in enumerate(trace.operations) if not trace.made[node]}
    paths = {call.path for call in trace.calls if not call.path.endswith("()")} | weights
    return {path[:end] for path in paths for end in (*(at for at, one in enumerate(path) if one == "."), len(path))}


def _name(path: str) -> str:
    """The name of a function by the path of its call: "forward" of "layers.0.forward()"."""
    return path.rpartition(".")[2].removesuffix("()")


def _steps(reference: Trace, row: Callable[[np.ndarray], int]) -> tuple[Step, ...]:
    named: dict[int, list[str]] = {}
    for name, node in reference.steps:
        named.setdefault(node, []).append(name)
    steps: list[Step] = []
    before: list[frozenset[int]] = []  # of each node the nearest named steps
    for node in range(reference.size):
        nearest = frozenset().union(*(before[source] for source in reference.inputs[node]))
        for name in named.get(node, ()):
            operation = reference.operations[node]
            steps.append(Step(name, row(reference.signatures[node]), tuple(sorted(nearest)), operation))
            nearest = frozenset([len(steps) - 1])
        before.append(nearest)
    return tuple(steps)


def pack(found: Mapping[str, ReferenceTrace]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors and a text that hold what is known of calls, by their digests."""
    tensors: dict[str, np.ndarray] = {digest: known.rows.astype(np.float32) for digest, known in found.items()}
    operations = {digest: sorted({one for _, one, _ in known.made_from}) for digest, known in found.items()}
    for digest, known in found.items():
        index = {name: number for number, name in enumerate(operations[digest])}
        edges = [(source, index[one], row) for source, one, row in known.made_from]
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
        for digest, known in found.items()
    }
    # One entry: the order of several changes from run to run.
    return tensors, {CALLS: json.dumps(texts)}


@cache
def read(path: Path, digest: str) -> ReferenceTrace | None:
    """What is stored of a call of a stage; None if there is nothing."""
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
        made_from=tuple((source, names[one], row) for source, one, row in edges),
        **{name: _as_tuples(entry[name]) for name in PLAIN},
    )


@cache
def stored_calls(path: Path) -> dict[str, str]:
    """What is stored as text of the calls of a stage, by their digests; nothing if there is no such file."""
    from safetensors import safe_open

    if not path.is_file():
        return {}
    with safe_open(path, "np") as file:
        found: dict[str, str] = json.loads((file.metadata() or {}).get(CALLS, "{}"))
    return found


def stored_file(expected: Path, stage: str) -> Path:
    """Where what is known of the calls of a stage's visible tests is stored."""
    return expected / f"{stage}.steps.safetensors"


def _as_tuples(value: Any) -> Any:
    """What was written as JSON with tuples for lists."""
    if isinstance(value, dict):
        return {name: _as_tuples(one) for name, one in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
