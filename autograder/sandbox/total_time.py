"""The time that all calls of one submission may take together."""

import contextlib
import math
import time
from collections.abc import Iterator

from autograder.sandbox.student_faults import TimedOut

USED_UP = "the time of this submission is used up"


class Clock:
    """Runs while the student's code runs; the grader's own work does not count."""

    def __init__(self, limit: float = math.inf) -> None:
        self.left = limit  # seconds

    def check(self) -> None:
        """Look whether there is time left.

        Raises:
            TimedOut: if there is none.
        """
        if self.left <= 0:
            raise TimedOut(USED_UP)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count the time that passes inside."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.left -= time.monotonic() - started

    def expired(self, seconds: float) -> str:
        """What to say of a call that did not return within `seconds` or within what was left."""
        return f"no result after {seconds:g} s" if self.left > 0 else USED_UP
