"""What a worker writes down of a followed call: tensors and numbers, what each was made from, and on which line.

The record is a graph. Its nodes are tensors as they were at some time: given ones, and what an operation made. It ends
by itself at its limits; the code then runs on unseen.
"""

import linecache
import time
from types import FrameType
from typing import Any

import torch

from autograder.sandbox.limits import MOST_LINES, MOST_RAN, TRACE_BYTES, TRACE_NODES
from autograder.worker.tracing.signatures import COLUMNS
from autograder.worker.tracing.statements import Statement, statements

Means = tuple[float, ...]
GIVEN, MADE = 0, 1  # kinds of nodes
TRAINED = "trained weights"  # the operation that changes a weight in place, whatever its name is
GRADIENT = "gradient"  # the operation that reads the gradient of a weight


class Record:
    """The nodes, edges and calls, in the order of time."""

    def __init__(self, files: set[str], seconds: float) -> None:
        self.seconds = seconds
        self.files = files  # names of the files whose lines are wanted
        self.labels: dict[str, int] = {}
        self.places: dict[tuple[str, int], int] = {}
        # Kind, label, place, caller's place, call around it, whether it holds NaN.
        self.nodes: list[tuple[int, int, int, int, int, int]] = []
        self.edges: list[tuple[int, int]] = []  # from, to
        self.signatures: list[Means] = []
        self.steps: list[tuple[str, int]] = []
        # Of modules and functions: path, place, the call around it, from, to, where it returns.
        self.calls: list[list[Any]] = []
        self.results: list[int] = []
        self.shapes: list[list[int]] = []  # of the results
        self.raised: list[int] | None = None  # what went into the operation that raised an exception
        self.raised_at = -1
        self.whole = True
        self.begun: set[tuple[str, int]] = set()  # files and lines that were reached
        self.ran = 0  # what all operations cost together, those of stand-ins too
        self.inside = -1  # the innermost call of a module
        self.bytes = 0
        self.end = time.process_time() + seconds

    def append(
        self, kind: int, label: str, place: tuple[int, int], inputs: list[int], found: Means, nan: bool = False
    ) -> int:
        """Write down a new node: its number."""
        if len(self.nodes) >= TRACE_NODES or self.bytes > TRACE_BYTES or time.process_time() > self.end:
            self.whole = False
        node = len(self.nodes)
        number = self.labels.setdefault(label[:80], len(self.labels))
        self.nodes.append((kind, number, *place, self.inside, int(nan)))
        self.edges += [(source, node) for source in dict.fromkeys(inputs)]
        self.signatures.append(found)
        return node

    def place(self, frame: FrameType | None) -> tuple[int, int]:
        """The nearest line of the wanted files, and the line from which its function was called; -1 for none."""
        found: list[int] = []
        for _ in range(60):
            if frame is None or len(found) == 2:
                break
            code = frame.f_code
            if code.co_filename in self.files:
                number = self.places.setdefault((code.co_filename, frame.f_lineno), len(self.places))
                found.append(number)
            frame = frame.f_back
        return (*found, -1, -1)[:2]  # type: ignore[return-value]

    def made_on(self, file: str, statement: Statement, since: int) -> list[int]:
        """The tensors that a statement made, from a node on."""
        places = {self.places.get((file, line)) for line in range(statement.first, statement.last + 1)}
        last = range(max(since, len(self.nodes) - 50), len(self.nodes))
        return [node for node in last if self.nodes[node][2] in places]

    def statements(self, file: str) -> dict[int, Statement]:
        """The statements of a file, by their lines."""
        return statements("".join(linecache.getlines(file)))

    def reply(self) -> list[Any]:
        """The record as a value that can be sent; see `traces` for the form."""
        spans = {(file, line): self.statements(file).get(line) for file, line in self.places}
        return [
            self.whole,
            list(self.labels),
            [[file, *((one.first, one.last) if one else (line, line))] for (file, line), one in spans.items()],
            torch.tensor(self.nodes, dtype=torch.int64).reshape(-1, 6),
            torch.tensor(self.edges, dtype=torch.int64).reshape(-1, 2),
            torch.tensor(self.signatures, dtype=torch.float64).reshape(-1, COLUMNS),
            [list(step) for step in self.steps],
            self.calls,
            self.results[:1000],
            self.raised if self.raised is None else [self.raised_at, *self.raised[:1000]],
            self.shapes,
            min(self.ran, MOST_RAN),
            [list(line) for line in sorted(self.begun)[:MOST_LINES]],
        ]
