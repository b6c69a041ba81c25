"""A failed test's verdict on the lines of a submission, as plain data for all reports."""

from dataclasses import dataclass
from enum import Enum


class Confidence(Enum):
    """The certainty of a diagnosis, in the words used in verdicts, from most to least certain."""

    PROVED = "is wrong"
    PROBABLE = "is probably wrong"
    POSSIBLE = "may be wrong"


@dataclass(frozen=True)
class LineMark:
    """A line of the student's code in a failed test, with the verdict on its values."""

    file: str
    line: int
    text: str
    state: str  # "right", or "wrong": one of these lines is wrong
    steps: tuple[str, ...] = ()  # the named steps of the assignment that are computed there
    gap: bool = False  # whether a line is missing before this one


@dataclass(frozen=True)
class LineVerdict:
    """A verdict on lines: sentences, marks, and the named step that the first wrong line should compute."""

    pointed: tuple[str, ...]
    marks: tuple[LineMark, ...] = ()
    step: str = ""
