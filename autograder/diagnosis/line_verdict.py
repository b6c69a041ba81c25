"""What a failed test says of the lines of a submission: plain data, from which every report is made."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LineMark:
    """A line of the student's code in a failed test, and what is known of what it computes."""

    file: str
    line: int
    text: str
    state: str  # "right", or "wrong": one of these lines is wrong
    steps: tuple[str, ...] = ()  # the named steps of the assignment that are computed there


@dataclass(frozen=True)
class LineVerdict:
    """The sentences, the marks, and the named step that the first wrong line should compute."""

    pointed: tuple[str, ...]
    marks: tuple[LineMark, ...] = ()
    step: str = ""
