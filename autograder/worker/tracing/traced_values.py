"""What the statements of a followed call make that is no tensor: numbers, texts, lists of them, and NumPy's arrays.

A rate, a BLEU or a decoded sentence is computed in Python's own numbers, which no torch function shows. So each
statement of the student's files is looked at when it has run: the names that it makes get nodes of the record, made
from those that it uses. A number that a loop makes again and again is known by all its values so far; an array by the
signature that a tensor of its numbers has.
"""

import math
import zlib
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.worker.tracing.statements import Statement

if TYPE_CHECKING:
    from autograder.worker.tracing.tracer import Tracer

LONGEST = 500  # numbers of a series, or of a list
OF_NUMBERS, OF_OTHERS = 1.5, 1.25  # last columns of signatures; those of tensors are below 1
SIMPLE, WHOLE = 1.0, 0.5  # the columns before them
NAMED, LOOPED = " =", " in"  # ends of labels: a name that a statement makes, one that the head of a loop makes
PASSED = "return"  # the label of what is given back as it is
REPEATED = 40  # times that a statement is looked at
LIKE_AN_ID = 1 << 32  # another one each time: such a number says nothing of what was computed
MOST_TEXT = 4000  # characters of what is no number
ARRAY, FILLED = "array", "__setitem__"  # labels of arrays: a new one, one into which a statement writes
LARGEST = 1 << 22  # elements of an array that is looked at


class Series:
    """What a statement makes again and again; numbers are known by all of them so far."""

    def __init__(self) -> None:
        self.node, self.runs = -1, 0  # the last node, and how many there are
        self.sums = [0.0] * 4
        self.length = 0
        self.simple = True  # whether nothing follows from it: the same small number again and again, or zeros and ones
        self.first = 0.0
        self.binary = self.whole = True

    def of(self, value: Any) -> tuple[float, ...]:
        """The signature of the next value."""
        self.runs += 1
        if is_number(value):
            self.add(value)
            return self.signature()
        return signature_of(value)

    def add(self, number: float) -> None:
        """The next number."""
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
        """Eight numbers: four means, the length, a zero, whether they are simple or whole, that they are numbers."""
        n = max(self.length, 1)
        means = [one / n for one in self.sums]
        return (*means, min(self.length, 1000) / 1000, 0.0, SIMPLE if self.simple else self.whole * WHOLE, OF_NUMBERS)


def plain(value: Any, depth: int = 0) -> bool:
    """Whether a value is made of numbers and texts alone, and of none that may be the number of an object (`id`)."""
    if isinstance(value, (bool, int, float, str)):
        return not isinstance(value, int) or abs(value) < LIKE_AN_ID
    if depth > 3 or not isinstance(value, (list, tuple, dict, set, frozenset)) or len(value) > LONGEST:
        return False
    if isinstance(value, dict):
        return all(plain(one, depth + 1) for one in (*value.keys(), *value.values()))
    return all(plain(one, depth + 1) for one in value)


def is_array(value: Any) -> bool:
    """Whether a value is an array of numbers that is not too large."""
    return type(value) is np.ndarray and value.dtype.kind in "biuf" and value.size <= LARGEST


def followed(value: Any) -> bool:
    """Whether a value that is no tensor gets a node."""
    return is_array(value) or plain(value)


def is_number(value: Any) -> bool:
    """Whether a value is one number of Python."""
    return isinstance(value, (bool, int, float)) and not (isinstance(value, int) and abs(value) > 1 << 200)


def signature_of(value: Any) -> tuple[float, ...]:
    """The signature of a list of numbers, or of any other plain value."""
    if isinstance(value, (list, tuple)) and value and all(map(is_number, value)):
        series = Series()
        for one in value:
            series.add(one)
        return series.signature()
    text = _text(value)[:MOST_TEXT].encode()
    numbers = [(zlib.crc32(text, start) % 100003) / 100003 for start in (1, 7, 42, 99, 1234, 777)]
    return (*numbers, float(not value), OF_OTHERS)


def _text(value: Any) -> str:
    """The same text for the same value, in whatever order a dictionary or a set was filled."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{_text(key)}:{_text(one)}" for key, one in value.items())) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ",".join(sorted(map(_text, value))) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    return f"{float(value):.9g}" if is_number(value) else repr(value)


class Frame:
    """A running function of the student's: what its names are, by nodes of the record."""

    def __init__(self, tracer: "Tracer", frame: FrameType) -> None:
        self.tracer, self.frame = tracer, frame
        self.statements = tracer.statements(frame.f_code.co_filename)
        self.nodes: dict[str, int] = {}
        self.numbers: dict[str, int] = {}  # of these nodes those of fractions
        self.arrays: dict[str, np.ndarray] = {}  # what the names of arrays stand for
        self.written: dict[tuple[str, int], int] = {}  # how often the statement of a line has written into an array
        self.running: Statement | None = None
        self.since = 0  # the node at which it began
        self.came_back: list[int] = []  # what the functions that the statement calls have returned

    def given(self, arguments: dict[str, Any], caller: "Frame | None") -> None:
        """The function begins with these arguments; they are made by the statement that calls it."""
        statement = caller.running if caller else None
        for name, value in arguments.items():
            if followed(value):
                inputs = caller.passed(statement, value) if caller and statement else []
                frame, line = (caller.frame, statement.first) if caller and statement else (None, 0)
                self.know(name, self.tracer.plain_node(name + NAMED, frame, line, inputs, value), value)

    def begin(self, line: int) -> None:
        """A line begins: the statement before it has run, unless this is another line of the same one."""
        new = self.statements.get(line)
        if new is not self.running:
            self.finish(line)
            self.running, self.since = new, len(self.tracer.nodes)

    def finish(self, line: int) -> None:
        """The statement that was running is at its end; the next line is this one."""
        statement = self.running
        if statement is None:
            return
        low, high = statement.inside
        if not low or low <= line <= high:
            made = {name: self.frame.f_locals.get(name) for name in statement.makes}
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
        """Whether a statement writes into an array once more that it has filled for long: the last node stands for
        all that is still to come, and is looked at again when the array is used."""
        if name not in self.arrays or value is not self.arrays[name]:
            return False
        self.written[name, line] = self.written.get((name, line), 0) + 1
        return self.written[name, line] > REPEATED

    def returned(self, value: Any) -> int:
        """The function returns: the node of what it gives back, or -1."""
        statement = self.running
        if statement is None or not statement.returns or not followed(value):
            return -1
        inputs, kept = self.inputs(statement), self.kept(statement, value)
        label = PASSED if kept else "return" + NAMED
        return self.tracer.plain_node(label, self.frame, statement.first, kept or inputs, value)

    def know(self, name: str, node: int, value: Any) -> None:
        """A name stands for a plain value."""
        self.nodes[name] = node
        if isinstance(value, float):
            self.numbers[name] = node
        if is_array(value):
            self.arrays[name] = value

    def inputs(self, statement: Statement) -> list[int]:
        """The nodes that a statement uses."""
        found = list(self.came_back)
        for name in statement.uses:
            self.look_again(name)
            node = self.nodes[name] if name in self.nodes else self.tracer.node_of(self.frame.f_locals.get(name))
            if node >= 0:
                found.append(node)
        return found + self.tracer.made_on(self.frame.f_code.co_filename, statement, self.since)

    def passed(self, statement: Statement, value: Any) -> list[int]:
        """The nodes of which a statement has made an argument: one, if it is passed on as it is."""
        return self.kept(statement, value) or self.inputs(statement)

    def kept(self, statement: Statement, value: Any) -> list[int]:
        """The node of a name that stands for this very value, if the statement uses one."""
        same = [name for name in statement.uses if name in self.nodes and self.frame.f_locals.get(name) is value]
        return [self.nodes[same[0]]] if same else []

    def look_again(self, name: str) -> None:
        """An array is used that was written into more often than was looked at."""
        if name in self.arrays and any(key[0] == name and often > REPEATED for key, often in self.written.items()):
            self.written = {key: often for key, often in self.written.items() if key[0] != name}
            self.tracer.look_again(self.nodes[name], self.arrays[name])

    def of_arrays(self, values: list[Any]) -> list[int]:
        """The nodes of these arrays; of one without a name those of the arrays of which the statement makes it."""
        if self.running is None:
            return []
        names = [name for name in self.running.uses if name in self.arrays]
        names = [name for name in names if any(self.arrays[name] is one for one in values)] or names
        for name in names:
            self.look_again(name)
        return [self.nodes[name] for name in names] or [one for one in self.came_back if one in self.tracer.arrays]

    def fractions(self, values: list[float]) -> list[int]:
        """The nodes of the names that stand for these very fractions, where the running statement uses them."""
        names = [name for name in self.running.uses if name in self.numbers] if values and self.running else []
        known = {name: self.frame.f_locals.get(name) for name in names}
        return [self.numbers[name] for name, value in known.items() if any(value is one for one in values)]
