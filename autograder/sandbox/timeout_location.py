"""Where the student's code was when the time of a call was up: said by the worker in its last moment, then read.

Instead of an answer, the stack of Python's calls arrives as text, written by faulthandler: in C, whatever the code
does, loops in other languages and `except:` included. A forked worker is asked by a signal; one of its own process,
which has no signals on Windows, was told the time and looks at the clock itself. What arrives is a claim: it may name
lines of the student's files that exist, and nothing else of it is shown.
"""

import contextlib
import re
from collections.abc import Mapping
from typing import Any

from autograder.sandbox.limits import KEPT_OUTPUT
from autograder.sandbox.student_faults import Place, TimedOut

FRAME = re.compile(r'^  File "(\w+\.py)", line (\d{1,6}) in (\w*)', re.MULTILINE | re.ASCII)
MOST = 8  # calls, as of an exception


def last_words(replies: Any) -> str:
    """What a worker still sends until it has ended, the beginning of it."""
    said = b""
    with contextlib.suppress(OSError):
        while len(said) < KEPT_OUTPUT and (more := replies.read1(KEPT_OUTPUT)):
            said += more
    return said.decode("ascii", errors="replace")


def places(said: str, sources: Mapping[str, str]) -> tuple[Place, ...]:
    """The lines of the student's files that were being run, the innermost last.

    Args:
        said: what the worker says.
        sources: the texts of these files by name, from which alone the lines are shown.
    """
    found = []
    for file, number, function in FRAME.findall(said):
        lines = sources.get(file, "").splitlines()
        if 1 <= int(number) <= len(lines):
            found.append(Place(file, int(number), function[:80], lines[int(number) - 1].strip()[:200]))
    return tuple(reversed(found[:MOST]))


def too_late(message: str, call: str, where: tuple[Place, ...]) -> TimedOut:
    """The exception of a call whose time is up, in some line: `places` of the student's code."""
    if where:
        message += f": your code was still in {where[-1].file}:{where[-1].line}: `{where[-1].text}`"
    return TimedOut(message, call, where[:-1])
