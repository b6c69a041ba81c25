"""Modules are parsed by several threads at once: CPython's own counter of the depth is shared by all of them."""

import gc
import sys
import threading
import time

import pytest

from autograder.submissions.syntax_tree import parse

SOURCE = "x = " + "+".join(["a"] * 80) + "\ndef f():\n    " + "\n    ".join(["if a: b(c(d(e(f(g)))))"] * 40)


@pytest.fixture
def switching(monkeypatch):
    """Threads take turns in the middle of what C does for Python: whenever garbage is collected there."""

    def give_way(phase, info):
        time.sleep(0)

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-7)
    gc.set_threshold(20, 5, 5)
    gc.callbacks.append(give_way)
    yield
    gc.callbacks.remove(give_way)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


def test_threads_that_parse_at_once_do_not_disturb_each_other(switching):
    """`ast.parse` itself, in four threads with collections like these, raised SystemError once in 160 calls."""
    errors = []

    def work():
        try:
            for _ in range(10):
                parse(SOURCE)
        except SystemError as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
