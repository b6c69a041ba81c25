"""The trace of a call, recorded in a worker: tensors and numbers, their inputs, and their source lines.

The trace is a graph. Its nodes are tensors at certain points in time: inputs, and results of operations. Recording
stops at its limits; the code then continues untraced.
"""

import linecache
import sys
import time
from types import FrameType
from typing import Any

from autograder.sandbox.limits import MOST_LINES, MOST_RAN, TRACE_BYTES, TRACE_NODES
from autograder.worker.tracing.signature_weights import COLUMNS
from autograder.worker.tracing.statements import Statement, statements

Means = tuple[float, ...]
GIVEN, MADE = 0, 1  # kinds of nodes
TRAINED = "trained weights"  # the operation that changes a weight in place, under whatever name
GRADIENT = "gradient"  # the operation that reads the gradient of a weight


class Record:
    """The nodes, edges and calls, in chronological order."""

    def __init__(self, files: set[str], seconds: float) -> None:
        self.seconds = seconds
        self.files = files  # names of the files whose lines are recorded
        self.labels: dict[str, int] = {}
        self.places: dict[tuple[str, int], int] = {}
        # Kind, label, place, caller's place, enclosing call, whether it contains NaN.
        self.nodes: list[tuple[int, int, int, int, int, int]] = []
        self.edges: list[tuple[int, int]] = []  # from, to
        self.signatures: list[Means] = []
        self.steps: list[tuple[str, int]] = []
        # Of modules and functions: path, place, enclosing call, inputs, results, place of the return.
        self.calls: list[list[Any]] = []
        self.results: list[int] = []
        self.shapes: list[list[int]] = []  # of the results
        self.raised: list[int] | None = None  # the inputs of the operation that raised an exception
        self.raised_at = -1
        self.whole = True
        self.begun: set[tuple[str, int]] = set()  # files and lines that were reached
        self.ran = 0  # total cost of all operations, including those of stand-ins
        self.inside = -1  # the innermost running call to a module
        self.bytes = 0
        self.end = time.process_time() + seconds

    def append(
        self, kind: int, label: str, place: tuple[int, int], inputs: list[int], means: Means, nan: bool = False
    ) -> int:
        """Record a new node and return its number."""
        if len(self.nodes) >= TRACE_NODES or self.bytes > TRACE_BYTES or time.process_time() > self.end:
            self.whole = False
        node = len(self.nodes)
        number = self.labels.setdefault(label[:80], len(self.labels))
        self.nodes.append((kind, number, *place, self.inside, int(nan)))
        self.edges += [(source, node) for source in dict.fromkeys(inputs)]
        self.signatures.append(means)
        return node

    def place(self, frame: FrameType | None) -> tuple[int, int]:
        """Return the nearest line of the recorded files, and the line that called its function; -1 if there is none."""
        lines: list[int] = []
        for _ in range(60):
            if frame is None or len(lines) == 2:
                break
            code = frame.f_code
            if code.co_filename in self.files:
                number = self.places.setdefault((code.co_filename, frame.f_lineno), len(self.places))
                lines.append(number)
            frame = frame.f_back
        return (*lines, -1, -1)[:2]  # type: ignore[return-value]

    def made_on(self, file: str, statement: Statement, since: int) -> list[int]:
        """Return the tensors that a statement has computed since a given node."""
        places = {self.places.get((file, line)) for line in range(statement.first, statement.last + 1)}
        last = range(max(since, len(self.nodes) - 50), len(self.nodes))
        return [node for node in last if self.nodes[node][2] in places]

    def statements(self, file: str) -> dict[int, Statement]:
        """Return the statements of a file by line."""
        return statements("".join(linecache.getlines(file)))

    def reply(self) -> list[Any]:
        """Return the trace in a form that can be sent; see `localization.trace` for the format."""
        torch = sys.modules["torch"]  # the grader imports this module for its constants, and never imports torch

        spans = {(file, line): self.statements(file).get(line) for file, line in self.places}
        return [
            self.whole,
            list(self.labels),
            [
                [file, *((statement.first, statement.last) if statement else (line, line))]
                for (file, line), statement in spans.items()
            ],
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
