"""Exceptions for the ways in which the student's code can fail when a test calls it."""

import errno
import re
import signal
from dataclasses import dataclass
from typing import Any

from autograder.sandbox.limits import PRINTED


@dataclass(frozen=True)
class Place:
    """A line of the student's code."""

    file: str
    line: int | None
    function: str
    text: str
    shapes: str = ""  # shapes of the tensors in this line, if torch raised an exception about them


BOOLEANS = re.compile("only supports boolean masks|condition to be a boolean tensor|expected BoolTensor for mask")


class StudentFault(Exception):
    """The student's code returned no result. `status` becomes the status of the test."""

    status = "error"
    recipe: Any = None  # a replay of the call, for tracing
    smaller: Any = None  # creates and checks a smaller call with the same fault

    def __init__(self, message: str, call: str = "", where: tuple[Place, ...] = ()) -> None:
        super().__init__(message)
        self.message, self.call, self.where = message, call, where


class NotStarted(StudentFault):
    """The student has not written this part yet."""

    status = "not started"


class NoFile(StudentFault):
    """A module is missing from the submission, or its file cannot be read."""

    status = "no file"


class TimedOut(StudentFault):
    """A call did not return in time."""

    status = "timed out"


class Blocked(StudentFault):
    """The call needs a module that cannot be imported; another stage reports the reason."""

    status = "blocked"


class Forbidden(StudentFault):
    """The code used a ready-made part."""

    status = "forbidden"


class Raised(StudentFault):
    """The student's code raised an exception."""


class Crashed(StudentFault):
    """The worker ended or sent a malformed reply."""


class PrintedTooMuch(Crashed):
    """The code printed too much. The worker is stopped, since buffered output could appear in the next test."""


def ending(code: int) -> str:
    """Describe how a process ended."""
    if code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"exited on its own with exit code {code}"


def fault_of(error: Any, call: str) -> StudentFault:
    """Return the exception for an error reply. Nothing in the reply is trusted except that there was an error."""
    error = error if isinstance(error, dict) else {}
    # The class name can be any string, and could otherwise add lines to a report.
    kind, message = re.sub(r"\W", "_", str(error.get("kind", ""))[:80]), str(error.get("message", ""))[:4000]
    message = re.sub(r"\s*\n\s*", "\n", message.expandtabs(1)).strip()  # torch indents lists of names with tabs
    where = []
    for place in error.get("where", []) if isinstance(error.get("where"), list) else []:
        if isinstance(place, list) and len(place) in (4, 5):
            line = place[1] if isinstance(place[1], int) else None
            shapes = re.sub(r"\s", " ", str(place[4])[:200]) if len(place) == 5 else ""
            where.append(Place(str(place[0])[:80], line, str(place[2])[:80], str(place[3])[:200], shapes))
    # A stub raises it itself; torch also raises it, for unsupported operations.
    if kind == "NotImplementedError" and where and where[-1].text.startswith("raise"):
        return NotStarted(message or "not written yet", call, tuple(where))
    if error.get("unwritten") is True and where:
        return NotStarted(f"{where[-1].function} is not written yet ({message})", call, tuple(where))
    if kind == "ReadyMade":
        return Forbidden(message, call, tuple(where))
    if (
        kind == "AttributeError"
        and not where
        and (lacking := re.fullmatch(r"module '(\w+)' has no attribute '(\w+)'", message))
    ):
        return Raised(f"{lacking[1]}.py defines no {lacking[2]}", call)
    if kind == "OSError" and message.startswith(f"[Errno {errno.EFBIG}]"):
        words = f"the code printed more than {PRINTED >> 20} MiB, or wrote it into a file: is there an endless loop?"
        return PrintedTooMuch(words, call, tuple(where))
    if kind == "SystemExit":
        return Raised(f"sys.exit({message}) was called", call, tuple(where))
    return Raised(f"{kind}: {message}" if message else kind, call, tuple(where))


def other_weights(message: str, given: bool) -> str:
    """Rephrase torch's message about weights that do not fit an object; other messages are returned unchanged.

    Args:
        given: whether the constructor was provided, not written by the student.
    """
    if not (matched := re.match(r"RuntimeError: Error\(s\) in loading state_dict for (\w+):", message)):
        return message
    extra, missing = (
        ", ".join(re.findall(r'"([^"\n]+)"', "".join(re.findall(rf"{kind} key\(s\)[^\n]*", message))))
        for kind in ("Missing", "Unexpected")  # missing from the loaded weights, or from the object
    )
    words = [f"{matched[1]} has an extra parameter or buffer: {extra}"] if extra else []
    words += [f"{matched[1]} lacks {missing}"] if missing else []
    size = r"size mismatch for ([^:\n]+): [^\n]*?Size\(\[(.*?)\]\)[^\n]*?Size\(\[(.*?)\]\)"
    words += [f"{name} has the shape ({got}) instead of ({wanted})" for name, wanted, got in re.findall(size, message)]
    words += ["The constructors are given: do not change them"] if given else []
    return ". ".join(words)


def is_dtype_conflict(fault: BaseException | None) -> bool:
    """Whether code failed because it computes something in float32 while the grader uses float64."""
    return isinstance(fault, Raised) and bool(re.search(r"(?i)dtype|scalar type|double", fault.message))


def needs_booleans(error: BaseException | None) -> bool:
    """Whether code failed because it used a numeric tensor as a mask where torch accepts only booleans."""
    return isinstance(error, Raised) and BOOLEANS.search(error.message) is not None
