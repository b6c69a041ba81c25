"""Trace values other than tensors: numbers, strings, lists of them, and NumPy arrays.

A learning rate, a BLEU score or a decoded sentence is computed with plain Python values, which torch does not see. So
each statement of the student's files is examined after it has run. The names that it assigns get nodes in the trace,
derived from the names that it reads. A number assigned repeatedly in a loop is identified by all its values so far. An
array is identified by the signature of a tensor with the same numbers.
"""

import math
import zlib
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.worker.reflection import variables
from autograder.worker.tracing.statements import Statement

if TYPE_CHECKING:
    from autograder.worker.tracing.tracer import Tracer

LONGEST = 500  # numbers in a list, or items in another container
OF_NUMBERS, OF_OTHERS = 1.5, 1.25  # last columns of signatures; those of tensors are below 1
SIMPLE, WHOLE = 1.0, 0.5  # the columns before these
NAMED, LOOPED = " =", " in"  # ends of labels: a name assigned by a statement, a name assigned by the head of a loop
PASSED = "return"  # the label of a value that is returned unchanged
REPEATED = 40  # how many times a statement is examined
LIKE_AN_ID = 1 << 32  # a number this large may be an object's id, which differs in every run
MOST_TEXT = 4000  # characters of a value that is not a number
ARRAY, FILLED = "array", "__setitem__"  # labels of arrays: a new array, an array that a statement writes into
LARGEST = 1 << 22  # the most elements of an array that is examined


class Series:
    """The successive values of a statement; numbers are identified by all values so far."""

    def __init__(self) -> None:
        self.node, self.runs = -1, 0  # the last node, and the number of nodes
        self.sums = [0.0] * 4
        self.length = 0
        self.simple = True  # whether it proves nothing: the same small number repeatedly, or zeros and ones
        self.first = 0.0
        self.binary = self.whole = True

    def of(self, value: Any) -> tuple[float, ...]:
        """Return the signature of the next value."""
        self.runs += 1
        if is_number(value):
            self.add(value)
            return self.signature()
        return signature_of(value)

    def add(self, number: float) -> None:
        """Add the next number."""
        self.whole = self.whole and isinstance(number, int)
        value = float(number)
        value = 0.77 if math.isnan(value) else max(-1e300, min(1e300, value))
        size = abs(value)
        turn = 2 * math.pi * math.log2(size) if size else 0.25
        squeezed = value / (1 + size) / 2 + math.copysign(0.5, value) * (size > 0)
        self.length += 1
        parts = squeezed, math.cos(turn), math.sin(turn)
        place = (self.length * 0.6180339887498949) % 1 - 0.5
        for column, part in enumerate((*parts, place * sum(parts))):
            self.sums[column] += part
        self.first = value if self.length == 1 else self.first
        self.binary = self.binary and value in (0, 1)
        alike = value == self.first and size <= 1000 and value * 4 == int(value * 4)
        self.simple = self.binary or (self.simple and alike)

    def signature(self) -> tuple[float, ...]:
        """Return eight numbers: four means, the length, 0, a code for simple or whole values, and OF_NUMBERS."""
        n = max(self.length, 1)
        means = [total / n for total in self.sums]
        return (*means, min(self.length, 1000) / 1000, 0.0, SIMPLE if self.simple else self.whole * WHOLE, OF_NUMBERS)


def plain(value: Any, depth: int = 0) -> bool:
    """Whether a value consists only of numbers and strings, none of which could be an object's `id`."""
    if isinstance(value, (bool, int, float, str)):
        return not isinstance(value, int) or abs(value) < LIKE_AN_ID
    if depth > 3 or not isinstance(value, (list, tuple, dict, set, frozenset)) or len(value) > LONGEST:
        return False
    if isinstance(value, dict):
        return all(plain(item, depth + 1) for item in (*value.keys(), *value.values()))
    return all(plain(item, depth + 1) for item in value)


def is_array(value: Any) -> bool:
    """Whether a value is a numeric array that is not too large."""
    return type(value) is np.ndarray and value.dtype.kind in "biuf" and value.size <= LARGEST


def followed(value: Any) -> bool:
    """Whether a value other than a tensor gets a node."""
    return is_array(value) or plain(value)


def is_number(value: Any) -> bool:
    """Whether a value is a single Python number."""
    return isinstance(value, (bool, int, float)) and not (isinstance(value, int) and abs(value) > 1 << 200)


def signature_of(value: Any) -> tuple[float, ...]:
    """Return the signature of a list of numbers, or of any other plain value."""
    if isinstance(value, (list, tuple)) and value and all(map(is_number, value)):
        series = Series()
        for number in value:
            series.add(number)
        return series.signature()
    text = _text(value)[:MOST_TEXT].encode()
    numbers = [(zlib.crc32(text, start) % 100003) / 100003 for start in (1, 7, 42, 99, 1234, 777)]
    return (*numbers, float(not value), OF_OTHERS)


def _text(value: Any) -> str:
    """Return a canonical string for a value, independent of the order of a dictionary or set."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{_text(key)}:{_text(item)}" for key, item in value.items())) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ",".join(sorted(map(_text, value))) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    return f"{float(value):.9g}" if is_number(value) else repr(value)


class Frame:
    """A running student function, with the node of each of its names."""

    def __init__(self, tracer: "Tracer", frame: FrameType) -> None:
        self.tracer, self.frame = tracer, frame
        self.statements = tracer.statements(frame.f_code.co_filename)
        self.nodes: dict[str, int] = {}
        self.numbers: dict[str, int] = {}  # the nodes of floating-point numbers among these
        self.arrays: dict[str, np.ndarray] = {}  # the arrays by name
        self.written: dict[tuple[str, int], int] = {}  # how often the statement of a line has written into an array
        self.running: Statement | None = None
        self.since = 0  # number of nodes at the start of the running statement
        self.came_back: list[int] = []  # results of the functions called by the statement

    def given(self, arguments: dict[str, Any], caller: "Frame | None") -> None:
        """Record the function's arguments, which were computed by the calling statement."""
        statement = caller.running if caller else None
        for name, value in arguments.items():
            if followed(value):
                inputs = caller.passed(statement, value) if caller and statement else []
                frame, line = (caller.frame, statement.first) if caller and statement else (None, 0)
                self.know(name, self.tracer.plain_node(name + NAMED, frame, line, inputs, value), value)

    def begin(self, line: int) -> None:
        """Start a line and finish the previous statement, unless the line belongs to that statement."""
        new = self.statements.get(line)
        if new is not self.running:
            self.finish(line)
            self.running, self.since = new, len(self.tracer.nodes)

    def finish(self, line: int) -> None:
        """Finish the running statement; `line` is the next line."""
        statement = self.running
        if statement is None:
            return
        low, high = statement.inside
        if not low or low <= line <= high:
            made = {name: variables(self.frame).get(name) for name in statement.makes}
            made = {name: value for name, value in made.items() if not self.goes_on(name, value, statement.first)}
            inputs = self.inputs(statement) if any(map(followed, made.values())) else []
            for name, value in made.items():
                same = name in self.arrays and value is self.arrays[name]
                for known in (self.nodes, self.numbers, self.arrays):
                    known.pop(name, None)
                if followed(value):
                    label = FILLED if same else ARRAY if is_array(value) else name + (LOOPED if low else NAMED)
                    self.know(name, self.tracer.plain_node(label, self.frame, statement.first, inputs, value), value)
        self.came_back = []

    def goes_on(self, name: str, value: Any, line: int) -> bool:
        """Whether a statement has already written into the same array many times.

        If so, the last node represents all later writes, and is updated when the array is used.
        """
        if name not in self.arrays or value is not self.arrays[name]:
            return False
        self.written[name, line] = self.written.get((name, line), 0) + 1
        return self.written[name, line] > REPEATED

    def returned(self, value: Any) -> int:
        """Return the node of the function's return value, or -1."""
        statement = self.running
        if statement is None or not statement.returns or not followed(value):
            return -1
        inputs, kept = self.inputs(statement), self.kept(statement, value)
        label = PASSED if kept else "return" + NAMED
        return self.tracer.plain_node(label, self.frame, statement.first, kept or inputs, value)

    def know(self, name: str, node: int, value: Any) -> None:
        """Record that a name has a plain value."""
        self.nodes[name] = node
        if isinstance(value, float):
            self.numbers[name] = node
        if is_array(value):
            self.arrays[name] = value

    def inputs(self, statement: Statement) -> list[int]:
        """Return the nodes of the values that a statement reads."""
        nodes = list(self.came_back)
        for name in statement.uses:
            self.look_again(name)
            node = self.nodes[name] if name in self.nodes else self.tracer.node_of(variables(self.frame).get(name))
            if node >= 0:
                nodes.append(node)
        return nodes + self.tracer.made_on(self.frame.f_code.co_filename, statement, self.since)

    def passed(self, statement: Statement, value: Any) -> list[int]:
        """Return the nodes that an argument was computed from; a single node if it is passed on unchanged."""
        return self.kept(statement, value) or self.inputs(statement)

    def kept(self, statement: Statement, value: Any) -> list[int]:
        """Return the node of a name that the statement reads and whose value is this object."""
        same = [name for name in statement.uses if name in self.nodes and variables(self.frame).get(name) is value]
        return [self.nodes[same[0]]] if same else []

    def look_again(self, name: str) -> None:
        """Update the node of an array if some writes into it were not recorded."""
        if name in self.arrays and any(key[0] == name and often > REPEATED for key, often in self.written.items()):
            self.written = {key: often for key, often in self.written.items() if key[0] != name}
            self.tracer.look_again(self.nodes[name], self.arrays[name])

    def of_arrays(self, values: list[Any]) -> list[int]:
        """Return the nodes of these arrays; for an unnamed array, return those of the arrays used to compute it."""
        if self.running is None:
            return []
        names = [name for name in self.running.uses if name in self.arrays]
        names = [name for name in names if any(self.arrays[name] is value for value in values)] or names
        for name in names:
            self.look_again(name)
        return [self.nodes[name] for name in names] or [node for node in self.came_back if node in self.tracer.arrays]

    def fractions(self, values: list[float]) -> list[int]:
        """Return the nodes of the names whose values are these floats, if the running statement reads them."""
        names = [name for name in self.running.uses if name in self.numbers] if values and self.running else []
        known = {name: variables(self.frame).get(name) for name in names}
        return [self.numbers[name] for name, value in known.items() if any(value is number for number in values)]
