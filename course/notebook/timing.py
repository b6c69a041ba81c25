"""How long a call takes, for the notebooks."""

import time
from collections.abc import Callable


def best_time(call: Callable[[], object], repeat: int = 10) -> float:
    """The shortest of a few calls in milliseconds; the others were disturbed by something.

    A first call, which prepares things, does not count.
    """
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)
