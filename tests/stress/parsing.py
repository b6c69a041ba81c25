"""Threads that parse while others do, with collections in the middle of it: `python -m tests.stress.parsing [RUNS]`.

CPython's own counter of the depth is shared by all threads. `ast.parse` itself, in four threads with collections like
these, raised SystemError once in 160 calls.
"""

import gc
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from autograder.submissions.syntax_tree import parse

THREADS = 4
SOURCE = "x = " + "+".join(["a"] * 80) + "\ndef f():\n    " + "\n    ".join(["if a: b(c(d(e(f(g)))))"] * 40)


@contextmanager
def switching() -> Iterator[None]:
    """Threads take turns in the middle of what C does for Python: whenever garbage is collected there."""

    def give_way(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-7)
    gc.set_threshold(20, 5, 5)
    gc.callbacks.append(give_way)
    try:
        yield
    finally:
        gc.callbacks.remove(give_way)
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)


def errors_of(runs: int) -> list[BaseException]:
    """What is raised by so many calls in several threads."""
    errors: list[BaseException] = []

    def work() -> None:
        for _ in range(runs // THREADS):
            try:
                parse(SOURCE)
            except SystemError as error:
                errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    with switching():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return errors


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    errors = errors_of(runs)
    print(f"{len(errors)} of {runs} calls raised", *set(map(repr, errors)))
    sys.exit(bool(errors))
