"""The time that all calls of one submission may take together, and those of one stage.

Three quarters of it are divided into equal parts: one for the visible tests of each stage, one for its hidden tests.
The rest, and what a part does not use, is for whoever needs more first. So a loop without end in one stage leaves each
other stage its part, whatever the order.
"""

import contextlib
import math
import time
from collections.abc import Iterator

from autograder.sandbox.limits import DIVIDED, LATER_SECONDS, LEAST_SECONDS, TIMES_LONGEST
from autograder.sandbox.student_faults import TimedOut

HINTS = 6  # a sixth of the time, beyond it, is there for calls that only explain


class Seconds(float):
    """A time that was measured: the next one is another, of the same call."""


class Clock:
    """Runs while the student's code runs; the grader's own work does not count."""

    used_up = "the time of this submission is used up"

    def __init__(self, limit: float = math.inf) -> None:
        self.left = self.limit = limit  # seconds
        self.part, self.common = 0.0, limit  # of one stage's tests, and for whoever needs more
        self._longest = 0.0  # seconds of a call that returned
        self._late = False  # whether a call did not return in time
        self._aside: Clock | None = None

    @property
    def short(self) -> bool:
        """Whether no time is left for what only explains: half of that of the tests, or all that is aside, is used."""
        return self.left < self.limit / 2 or self.aside.left <= 0

    @property
    def most(self) -> float:
        """The seconds that one call may take."""
        return self.left

    def divide(self, parts: int) -> None:
        """Give parts to so many `Share`s; see above."""
        self.part = DIVIDED * self.left / parts
        self.common = (1 - DIVIDED) * self.left

    @property
    def aside(self) -> "Clock":
        """The time of calls that only explain what a test has found. It is not taken from that of the tests."""
        if self._aside is None:
            self._aside = Clock(self.limit / HINTS)
        return self._aside

    def check(self) -> None:
        """Look whether there is time left.

        Raises:
            TimedOut: if there is none.
        """
        if self.left <= 0:
            raise TimedOut(self.used_up)

    @contextlib.contextmanager
    def running(self, call: bool = True) -> Iterator[None]:
        """Count the time that passes inside.

        Args:
            call: whether it is that of a call of the student's code, and says something about others.
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
        """The seconds of one call, if that is less than usual.

        A loop without end costs one test the whole time of a call, and each further test of its stage little. Where it
        was no loop, and something else has stopped the machine, that costs no other test: see LATER_SECONDS.
        """
        return max(LATER_SECONDS, TIMES_LONGEST * self._longest) if self._late else math.inf

    def expired(self, seconds: float) -> str:
        """What to say of a call that did not return within `seconds` or within what was left; further ones get less."""
        less = " (calls get less time after one that took too long)" if seconds == self.each else ""
        self._late = True
        return f"no result after {round(seconds, 1):g} s{less}" if self.left > 0 else self.used_up


class Share(Clock):
    """The time of one stage, of that of the submission: a loop without end in a stage leaves the others enough.

    Stages that are graded at the same time may use what is in common twice, but never the part of another one.
    """

    used_up = "the time of this stage is used up"

    def __init__(self, whole: Clock) -> None:
        super().__init__(whole.limit)
        self.whole, self._began = whole, 0.0

    def begin(self) -> None:
        """Take a part, for the tests that follow, and what nobody has needed so far."""
        self.left = self._began = self.whole.part + self.whole.common

    def end(self) -> None:
        """Leave to others what was not needed."""
        used = self._began - self.left if self._began < math.inf else 0.0
        self.whole.common = max(0.0, self.whole.common + self.whole.part - used)

    @property
    def most(self) -> float:
        return self.left / 2  # the other half is for the other tests of the stage

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
