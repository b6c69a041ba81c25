"""Run a call of a student's program, changed or not: what it returns, how often lines run, and what they compute.

Everything runs in the student's worker, which is confined for other people's code. The form of the replies is checked,
and they are never trusted: a forged reply spoils only the student's own questions.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.questions.program import Change, Place, Program
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import body_of
from autograder.sandbox.student_faults import Crashed, Raised, StudentFault, TimedOut

SECONDS = 3.0  # for a request
SAME, OTHER = 1e-9, 1e-3  # smaller deviations are rounding; those of OTHER or more are visible
SEED = 7
WEIGHTS = "attention weights"  # the name that a worker gives to the result of an operation whose rows are weights


@dataclass(frozen=True, eq=False)
class LineValue:
    """The value that a statement assigned to a name, or returned, in one run of it."""

    place: Place
    name: str  # "return" for a returned value
    shape: tuple[int, ...] | None  # of a tensor
    value: Any  # an array, or a plain value as a string; None if it is too large


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a call."""

    values: tuple[np.ndarray, ...] = ()  # the result, or the members of a returned tuple
    error: str = ""  # the type of the exception
    counts: Mapping[Place, int] = field(default_factory=dict)  # how often each line ran
    lines: tuple[LineValue, ...] = ()


class Bench:
    """The worker in which the calls of one program run."""

    def __init__(self, student: Student, program: Program) -> None:
        self.student, self.program = student, program
        self.endless: set[Place] = set()  # statements for which a change has ended the worker

    def run(self, call: CallReplay, change: Change | None = None, watch: bool = False, train: bool = False) -> Outcome:
        """Run a call, with a change to the program if there is one."""
        try:
            with self.asking(change) as ask:
                if watch:
                    ask({"do": "watch", "files": self.program.files})
                objects = call.prepare(lambda request, own: getattr(ask(request, body_of(own)), "_handle", None))
                request, tensors = call.last(objects)
                if train:
                    for handle in objects.values():
                        ask(of_mode(request, handle, "train"))
                    ask({"do": "seed", "seed": SEED})
                try:
                    value = ask(request, body_of(tensors))
                finally:
                    record = ask({"do": "watched"}) if watch and self.student._worker is not None else None
                return Outcome(tuple(_values(value)), "", *read_lines(record))
        except Raised as fault:
            return Outcome(error=fault.message.partition(":")[0])
        except (TimedOut, Crashed):
            if change:
                self.endless.add(change.own.place)
            return Outcome(error="no answer")
        except (StudentFault, LookupError, TypeError):
            return Outcome(error="no numbers")

    @contextlib.contextmanager
    def asking(self, change: Change | None) -> Iterator[Callable[..., Any]]:
        """Send requests to a worker that runs the program with a change, if there is one."""
        own = change.own if change else None
        where = {"module": own.module if own else next(iter(self.program.sources)), "path": own.path if own else ""}
        with self.student.aside(SECONDS) as ask:
            self.student.start()
            ask({"do": "change", **where, "text": change.unit if change else ""})
            yield ask


def of_mode(request: Mapping[str, Any], target: int, mode: str) -> dict[str, Any]:
    """A request like another call that puts an object in a mode."""
    return {**request, "target": target, "method": mode, "args": [], "kwargs": {}, "unseen": True}


def _values(value: Any) -> Iterator[np.ndarray]:
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(one, (list, tuple)):
            yield from _values(one)
        elif one is not None:
            if not isinstance(one, (np.ndarray, bool, int, float)):
                raise TypeError("no number")
            yield np.asarray(one, np.float64)


def read_lines(record: Any) -> tuple[dict[Place, int], tuple[LineValue, ...]]:
    """The counts and values of a record; nothing if it is malformed."""
    counts, lines = {}, []
    try:
        for file, line, count in record[0]:
            counts[str(file), int(line)] = int(count)
        for file, line, name, (shape, value) in record[1]:
            plain = shape == "plain"
            sizes = None if plain else tuple(map(int, shape))
            fits = isinstance(value, str) if plain else isinstance(value, np.ndarray) and value.shape == sizes
            lines.append(LineValue((str(file), int(line)), str(name), sizes, value if fits else None))
    except (TypeError, ValueError, LookupError, OverflowError):
        return {}, ()
    return counts, tuple(lines)


def same(first: Outcome, second: Outcome) -> bool | None:
    """Whether two calls had the same outcome; None if they differ too little for a question."""
    if first.error or second.error:
        return first.error == second.error
    if [one.shape for one in first.values] != [one.shape for one in second.values]:
        return False
    pairs = [*zip(first.values, second.values, strict=True)]
    if all(close(*one, SAME) for one in pairs):
        return True
    return None if all(close(*one, OTHER) for one in pairs) else False


def close(a: np.ndarray, b: np.ndarray, off: float) -> bool:
    """Whether all elements are equal up to a deviation, which is relative for large numbers."""
    return np.allclose(a, b, off, off, equal_nan=True)
