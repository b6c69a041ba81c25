"""Exchange one request and reply with a worker; on timeout, ask the worker for its current location."""

import threading
from collections.abc import Callable
from typing import Any

from autograder.sandbox.limits import LAST_WORDS_SECONDS
from autograder.sandbox.read_reply import read_value
from autograder.sandbox.timeout_location import last_words
from autograder.sandbox.watchdog import WATCHDOG
from autograder.sandbox.wire import FrameError, read_frame, write_frame
from autograder.sandbox.worker_processes import WorkerProcess


class Late(Exception):
    """No reply arrived in time. The exception contains the worker's last message."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def exchange(
    worker: WorkerProcess, request: dict[str, Any], body: bytes, seconds: float, proxy: Callable[[int], Any]
) -> tuple[dict[str, Any], Any]:
    """Send a request; return the reply's header and, if there was no error, its value.

    Args:
        proxy: creates a proxy for an object that stays in the worker, from the object's handle.

    Raises:
        Late: if the reply does not arrive in time; the worker has been killed.
        FrameError: if the reply is malformed.
        EOFError, OSError: if the worker has ended.
    """
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        worker.ask_where()
        threading.Timer(min(LAST_WORDS_SECONDS, seconds), worker.kill).start()

    message, value = "", None
    try:
        # Whatever the worker does, killing it ends our blocked read or write.
        with WATCHDOG.after(seconds, expire):
            try:
                write_frame(worker.writer, worker.timed(request, seconds), body)
                header, body = read_frame(worker.reader)
                if "error" not in header:  # decoding the value takes time too
                    value = read_value(header, body, proxy)
            except FrameError:
                if not expired.is_set():
                    raise
                message = last_words(worker.reader)
    except (EOFError, OSError):
        if not expired.is_set():
            raise
    if expired.is_set():
        raise Late(message)
    return header, value
