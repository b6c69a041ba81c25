"""A failed call with everything known about it: its trace, the reference's trace, the source and the test's message."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from autograder.localization.alignment import Alignment, align
from autograder.localization.reference import ReferenceTrace
from autograder.localization.source import Source
from autograder.localization.trace import Trace
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.limits import MOST_LINES
from autograder.sandbox.remote_modules import Student


@dataclass(frozen=True)
class Case:
    """A failed call."""

    test: str
    recipe: CallReplay
    student: Student
    trace: Trace
    reference: ReferenceTrace
    source: Source
    raised: bool  # whether the call ended with an exception
    whole_numbers: bool  # whether it returned whole numbers, such as tokens
    # Whether the test gets further with another `Student` (or passes, if requested), and which part then fails.
    further: Callable[[Student, bool], tuple[bool, str]] | None = None  # None if no call is repeated

    @cached_property
    def alignment(self) -> Alignment:
        """The values of the call, aligned with those of correct code."""
        return align(self.trace, self.reference)

    def ran(self, file: str, statement: ast.stmt) -> bool:
        """Whether a statement was reached; True if this is unknown."""
        if not self.trace.ending.whole or len(self.trace.ending.reached) >= MOST_LINES or not self.trace.ending.reached:
            return True
        body = getattr(statement, "body", None)
        last = max(statement.lineno, body[0].lineno - 1) if isinstance(body, list) and body else statement.end_lineno
        return any((file, line) in self.trace.ending.reached for line in range(statement.lineno, (last or 0) + 1))
