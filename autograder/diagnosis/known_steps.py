"""What correct code computes on the way to the result of a call: signatures of its tensors, and names of its steps.

They come from following the reference, where steps have names (see `named_steps`), and other correct code, which takes
other roads. A tensor is known by its signature, so neither the way in which code is written nor the names of its
variables matter. For the visible tests they are stored beside the expected tensors: signatures only, from which the
solution cannot be read.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from autograder.sandbox.traces import COLUMNS, Trace

LIMIT = 3e-6  # between two signatures of the same tensor; rounding in float64 stays far below
BEGINNING = 1500  # nodes that are taken of other correct code in a call that is too long to be recorded
ORDERED = 4  # columns of a signature from this one on see the order of the elements


@dataclass(frozen=True)
class Step:
    """A named step of a call."""

    name: str
    row: int  # its signature
    after: tuple[int, ...]  # the named steps that it is made from, without those before them
    operation: str = ""  # what makes it in the reference


@dataclass(frozen=True)
class Known:
    """What correct code computes in one call."""

    rows: np.ndarray  # (m, COLUMNS) signatures
    steps: tuple[Step, ...]
    calls: Mapping[str, tuple[frozenset[int], ...]]  # module -> what goes into its calls
    results: tuple[int, ...]
    whole: bool = True  # whether it reaches the end of the call

    def find(self, signatures: np.ndarray, columns: int = COLUMNS) -> np.ndarray:
        """The row of each signature, or -1; the first `columns` have to agree."""
        order = np.argsort(self.rows[:, 0], kind="stable")
        first = self.rows[order, 0]
        low = np.searchsorted(first, signatures[:, 0] - LIMIT)
        high = np.searchsorted(first, signatures[:, 0] + LIMIT)
        found = np.full(len(signatures), -1)
        for number in np.flatnonzero(low < high):
            near = order[low[number] : high[number]]
            off = np.abs(self.rows[near, :columns] - signatures[number, :columns]).max(axis=1)
            if off.min() <= LIMIT:
                found[number] = near[off.argmin()]
        return found


def constant(signatures: np.ndarray) -> np.ndarray:
    """Whether all elements of a tensor are alike: nothing can be concluded from such a tensor."""
    return np.abs(signatures[:, 1] - signatures[:, 0] ** 2) < 1e-10


def known_from(reference: Trace, others: Iterable[Trace] = ()) -> Known:
    """What the reference and other correct code compute in a call."""
    index: dict[tuple[float, ...], int] = {}
    rows: list[np.ndarray] = []

    def row(signature: np.ndarray) -> int:
        key = tuple(np.round(signature, 5))
        if key not in index:
            index[key] = len(rows)
            rows.append(signature)
        return index[key]

    calls: dict[str, set[frozenset[int]]] = {}
    for trace in (reference, *others):
        last = trace.size if reference.whole or trace is reference else BEGINNING
        alike = constant(trace.signatures)
        usable = np.isfinite(trace.signatures[:, 0]) & ~alike
        # Those of alike elements are rows too: nothing is proven by them, but they are nothing strange.
        for node in np.flatnonzero(trace.made & np.isfinite(trace.signatures[:, 0]))[:last]:
            row(trace.signatures[node])
        for call in trace.calls:
            into = frozenset(row(trace.signatures[node]) for node in call.inputs if usable[node])
            calls.setdefault(call.path, set()).add(into)
    results = tuple(row(reference.signatures[node]) for node in reference.results)
    steps = _steps(reference, row)
    found = np.array(rows, dtype=np.float32).astype(np.float64).reshape(-1, COLUMNS)
    return Known(
        found, steps, {path: tuple(sorted(sets, key=sorted)) for path, sets in calls.items()}, results, reference.whole
    )


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


def pack(found: Mapping[str, Known]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors and a text that hold what is known of calls, by their digests."""
    tensors = {digest: known.rows.astype(np.float32) for digest, known in found.items()}
    texts = {
        digest: json.dumps(
            {
                "steps": [list(asdict(step).values()) for step in known.steps],
                "calls": {path: [sorted(rows) for rows in sets] for path, sets in sorted(known.calls.items())},
                "results": known.results,
                "whole": known.whole,
            },
            separators=(",", ":"),
        )
        for digest, known in found.items()
    }
    return tensors, texts


@cache
def read(path: Path) -> dict[str, Known]:
    """What is stored of the calls of a stage, by their digests; nothing if there is no such file."""
    from safetensors import safe_open

    if not path.is_file():
        return {}
    found = {}
    with safe_open(path, "np") as file:
        for digest, text in (file.metadata() or {}).items():
            if digest in file.keys():  # noqa: SIM118 - it is no dictionary
                entry = json.loads(text)
                found[digest] = Known(
                    file.get_tensor(digest).astype(np.float64),
                    tuple(Step(name, row, tuple(after), made) for name, row, after, made in entry["steps"]),
                    {name: tuple(frozenset(rows) for rows in sets) for name, sets in entry["calls"].items()},
                    tuple(entry["results"]),
                    entry["whole"],
                )
    return found


def stored_file(expected: Path, stage: str) -> Path:
    """Where what is known of the calls of a stage's visible tests is stored."""
    return expected / f"{stage}.steps.safetensors"
