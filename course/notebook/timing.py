"""Time a call, for the notebooks."""

import time
from collections.abc import Callable


def best_time(call: Callable[[], object], repeat: int = 10) -> float:
    """Return the shortest time of a few calls in milliseconds; longer times are due to interference.

    An initial warm-up call is not counted.
    """
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)
