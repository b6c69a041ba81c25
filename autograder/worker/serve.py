"""The loop of a worker: read a request, answer it. Nothing here needs torch, which is imported once for all workers."""

import contextlib
import faulthandler
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from autograder.sandbox.wire import read_frame, write_frame
from autograder.worker.warm_torch import prepare_torch


@contextlib.contextmanager
def saying_where(replies: Any, seconds: float | None) -> Iterator[None]:
    """Run a block; if it exceeds the time limit, the worker sends its current location instead of a reply."""
    if seconds is not None:
        faulthandler.dump_traceback_later(seconds, file=replies)
    try:
        yield
    finally:
        if seconds is not None:
            faulthandler.cancel_dump_traceback_later()


def serve(reader: BinaryIO, writer: BinaryIO, before: Sequence[Callable[[], None]] = ()) -> None:
    """Answer requests until the grader closes the connection; `before` is called before any student code runs."""
    from autograder.worker.answer_requests import Worker  # needs torch

    worker = Worker(before)
    while True:
        try:
            request, body = read_frame(reader)
        except EOFError:
            return
        with saying_where(writer, request.pop("within", None)):
            reply = worker.answer(request, body)
        with contextlib.suppress(Exception):  # the student's code may have replaced or closed them
            sys.stdout.flush()
            sys.stderr.flush()
        write_frame(writer, *reply)


def main() -> None:
    """Run a worker as a separate process: requests on stdin, replies on stdout, the student's output on stderr."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    prepare_torch()
    if os.name != "nt":
        import resource

        from autograder.sandbox.confine import limit
        from autograder.sandbox.limits import PRINTED

        limit(resource.RLIMIT_FSIZE, PRINTED)
    from autograder.worker import reflection, unconfined_refusals

    write_frame(replies, {})  # from here on, errors are due to the student's code
    serve(requests, replies, [unconfined_refusals.refuse, reflection.close])
