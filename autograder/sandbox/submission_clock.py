"""The time budgets for all calls to one submission, and for each of its stages.

Three quarters of a submission's time is divided equally: each stage has one share for its visible tests and one for
its hidden tests. The remaining quarter, plus any time that finished stages did not use, goes to the first stage that
needs more. So an endless loop in one stage leaves every other stage its full share, regardless of the order.
"""

import contextlib
import math
import time
from collections.abc import Iterator

from autograder.sandbox.limits import DIVIDED, LATER_SECONDS, LEAST_SECONDS, TIMES_LONGEST
from autograder.sandbox.student_faults import TimedOut

HINTS = 6  # one sixth of the time is added for calls made only for diagnosis


class Seconds(float):
    """A measured time. The time may differ if the same call is measured again."""


class Clock:
    """Measures how long the student's code runs, not counting the grader's own work."""

    used_up = "the time of this submission is used up"

    def __init__(self, limit: float = math.inf) -> None:
        self.left = self.limit = limit  # seconds
        self.part, self.common = 0.0, limit  # the share of one stage's tests, and the reserve for stages that need more
        self._longest = 0.0  # seconds of the longest call that returned
        self._late = False  # whether a call did not return in time
        self._aside: Clock | None = None

    @property
    def short(self) -> bool:
        """Whether no time is left for diagnosis: half of the tests' time, or all of the extra time, is used up."""
        return self.left < self.limit / 2 or self.aside.left <= 0

    @property
    def most(self) -> float:
        """The time limit for one call, in seconds."""
        return self.left

    def divide(self, parts: int) -> None:
        """Divide the time into this many shares, as the module docstring describes."""
        self.part = DIVIDED * self.left / parts
        self.common = (1 - DIVIDED) * self.left

    @property
    def aside(self) -> "Clock":
        """The extra time for calls that only explain a test's result. It is not subtracted from the tests' time."""
        if self._aside is None:
            self._aside = Clock(self.limit / HINTS)
        return self._aside

    def check(self) -> None:
        """Check whether any time is left.

        Raises:
            TimedOut: if none is left.
        """
        if self.left <= 0:
            raise TimedOut(self.used_up)

    @contextlib.contextmanager
    def running(self, call: bool = True) -> Iterator[None]:
        """Count the time spent in the block.

        Args:
            call: whether the block is a call to the student's code, whose time may raise the limit for later calls.
        """
        started, returned = time.monotonic(), False
        try:
            yield
            returned = call
        finally:
            seconds = time.monotonic() - started
            self.left -= seconds
            self._longest = max(self._longest, seconds if returned else 0.0)

    @property
    def each(self) -> float:
        """The time limit for a call after a timeout, in seconds; infinite before the first timeout.

        An endless loop uses up a call's full time in one test, but very little time in each later test of the stage. If
        a slow machine caused the timeout, no other test fails because of this limit: see LATER_SECONDS.
        """
        return max(LATER_SECONDS, TIMES_LONGEST * self._longest) if self._late else math.inf

    def expired(self, seconds: float) -> str:
        """Return the message for a call that exceeded `seconds` or the remaining time; later calls have less time."""
        less = " (calls get less time after one that took too long)" if seconds == self.each else ""
        self._late = True
        return f"no result after {round(seconds, 1):g} s{less}" if self.left > 0 else self.used_up


class Share(Clock):
    """One stage's part of a submission's time: an endless loop in the stage leaves enough for the other stages.

    Stages graded at the same time may each use the whole reserve, but never another stage's share.
    """

    used_up = "the time of this stage is used up"

    def __init__(self, whole: Clock) -> None:
        super().__init__(whole.limit)
        self.whole, self._began = whole, 0.0

    def begin(self) -> None:
        """Set the time for the next tests to one share plus the reserve."""
        self.left = self._began = self.whole.part + self.whole.common

    def end(self) -> None:
        """Return unused time to the reserve."""
        used = self._began - self.left if self._began < math.inf else 0.0
        self.whole.common = max(0.0, self.whole.common + self.whole.part - used)

    @property
    def most(self) -> float:
        return self.left / 2  # the other half is for the stage's remaining tests

    @property
    def short(self) -> bool:
        return self.whole.short

    @property
    def aside(self) -> Clock:
        return self.whole.aside

    def check(self) -> None:
        if self.left < LEAST_SECONDS:
            raise TimedOut(self.used_up)

    @contextlib.contextmanager
    def running(self, call: bool = True) -> Iterator[None]:
        with self.whole.running(call), super().running(call):
            yield
