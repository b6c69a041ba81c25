"""The outcome of a call of a student's program: what it returns, how often lines run, and what they compute.

The form of the worker's replies is checked, and they are never trusted: a forged reply spoils only the student's own
questions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.questions.program import Place

SAME, OTHER, VISIBLE = 1e-9, 1e-6, 1e-3  # rounding is below SAME, a change above OTHER; of a result, one is VISIBLE
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


def numbers_of(value: Any) -> Iterator[np.ndarray]:
    """The numbers in a result.

    Raises:
        TypeError: if there is anything else in it.
    """
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(one, (list, tuple)):
            yield from numbers_of(one)
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
    return None if all(close(*one, VISIBLE) for one in pairs) else False


def close(a: np.ndarray, b: np.ndarray, off: float) -> bool:
    """Whether all elements are equal up to a deviation, which is relative for large numbers."""
    return np.allclose(a, b, off, off, equal_nan=True)
