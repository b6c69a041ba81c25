"""A watchdog that calls functions at their deadlines unless they are cancelled. One thread handles all deadlines."""

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watchdog:
    """Waits for many deadlines in one thread. One `threading.Timer` per call would cost as much as the call itself."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = 0  # the process that runs the thread; a fork has no such thread
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._waiting: dict[int, Callable[[], None]] = {}
        self._deadlines: list[tuple[float, int]] = []  # a heap, including cancelled deadlines
        self._wakes = float("inf")  # the time of the thread's next check

    @contextmanager
    def after(self, seconds: float, call: Callable[[], None]) -> Iterator[None]:
        """Call a function in the watchdog's thread if the body of the `with` statement takes longer than `seconds`."""
        if self._process != os.getpid():
            self._begin()
            self._process = os.getpid()
            threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
        deadline, number = time.monotonic() + seconds, next(self._numbers)
        with self._changed:
            self._waiting[number] = call
            heapq.heappush(self._deadlines, (deadline, number))
            if deadline < self._wakes:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._waiting.pop(number, None)

    def _watch(self) -> None:
        while True:
            due = []
            with self._changed:
                now = time.monotonic()
                while self._deadlines and (self._deadlines[0][0] <= now or self._deadlines[0][1] not in self._waiting):
                    _, number = heapq.heappop(self._deadlines)
                    if number in self._waiting:
                        due.append(self._waiting.pop(number))
                if not due:
                    self._wakes = self._deadlines[0][0] if self._deadlines else float("inf")
                    self._changed.wait(self._wakes - now if self._deadlines else None)
            for call in due:
                call()


WATCHDOG = Watchdog()
