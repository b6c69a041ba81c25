"""Find the line at which the student's code timed out; the worker reports its location just before it ends.

Instead of a reply, the worker sends Python's call stack as text. It is written by faulthandler, in C, so neither
untrusted code nor `except:` can prevent this. In a forked worker, a signal triggers the output. Windows has no such
signals, so a separate worker process receives its time limit and enforces it itself. The text is not trusted: only
references to existing lines in the student's files are taken from it.
"""

import contextlib
import re
from collections.abc import Mapping
from typing import Any

from autograder.sandbox.limits import KEPT_OUTPUT
from autograder.sandbox.student_faults import Place, TimedOut

FRAME = re.compile(r'^  File "(\w+\.py)", line (\d{1,6}) in (\w*)', re.MULTILINE | re.ASCII)
MOST = 8  # lines of the call stack, as for an exception


def last_words(replies: Any) -> str:
    """Return the worker's last output before it ends, up to a limit."""
    output = b""
    with contextlib.suppress(OSError):
        while len(output) < KEPT_OUTPUT and (more := replies.read1(KEPT_OUTPUT)):
            output += more
    return output.decode("ascii", errors="replace")


def places(stack: str, sources: Mapping[str, str]) -> tuple[Place, ...]:
    """Return the student's lines on the call stack, the innermost last.

    Args:
        stack: the worker's last message.
        sources: the contents of the student's files by name; lines are shown from these only.
    """
    where = []
    for file, number, function in FRAME.findall(stack):
        lines = sources.get(file, "").splitlines()
        if 1 <= int(number) <= len(lines):
            where.append(Place(file, int(number), function[:80], lines[int(number) - 1].strip()[:200]))
    return tuple(reversed(where[:MOST]))


def too_late(message: str, call: str, where: tuple[Place, ...]) -> TimedOut:
    """Return the exception for a timeout; `where` holds the student's lines on the call stack."""
    if where:
        message += f": your code was still in {where[-1].file}:{where[-1].line}: `{where[-1].text}`"
    return TimedOut(message, call, where[:-1])
