"""What can go wrong with the student's code when a test calls it, as exceptions."""

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
    shapes: str = ""  # of the tensors that it names, where torch has raised an exception about them


BOOLEANS = re.compile("only supports boolean masks|condition to be a boolean tensor|expected BoolTensor for mask")


class StudentFault(Exception):
    """The student's code did not give a result. `status` is the one that the test gets."""

    status = "error"
    recipe: Any = None  # how the call came about, to follow it once more
    smaller: Any = None  # makes and checks a smaller call that shows the same

    def __init__(self, message: str, call: str = "", where: tuple[Place, ...] = ()) -> None:
        super().__init__(message)
        self.message, self.call, self.where = message, call, where


class NotStarted(StudentFault):
    """The student has not written this part yet."""

    status = "not started"


class NoFile(StudentFault):
    """A module is not among what was handed in, or its file cannot be read."""

    status = "no file"


class TimedOut(StudentFault):
    """A call did not return in time."""

    status = "timed out"


class Blocked(StudentFault):
    """The call needs something that another stage reports."""

    status = "blocked"


class Forbidden(StudentFault):
    """The code has used a ready-made part."""

    status = "forbidden"


class Raised(StudentFault):
    """The student's code raised an exception."""


class Crashed(StudentFault):
    """The worker ended, or sent something that is not an answer."""


class PrintedTooMuch(Crashed):
    """The code has printed more than a worker may. What it left in its buffers would be printed in the next test."""


def ending(code: int) -> str:
    """How a process ended, in words."""
    if code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"ended by itself with exit code {code}"


def fault_of(error: Any, call: str) -> StudentFault:
    """The exception of an error reply, of which nothing is believed but that it is an error."""
    error = error if isinstance(error, dict) else {}
    # The name of a class may be any text, and would stand as lines of its own in a report.
    kind, message = re.sub(r"\W", "_", str(error.get("kind", ""))[:80]), str(error.get("message", ""))[:4000]
    message = re.sub(r"\s*\n\s*", "\n", message.expandtabs(1)).strip()  # torch indents lists of names with tabs
    where = []
    for place in error.get("where", []) if isinstance(error.get("where"), list) else []:
        if isinstance(place, list) and len(place) in (4, 5):
            line = place[1] if isinstance(place[1], int) else None
            shapes = re.sub(r"\s", " ", str(place[4])[:200]) if len(place) == 5 else ""
            where.append(Place(str(place[0])[:80], line, str(place[2])[:80], str(place[3])[:200], shapes))
    # A stub raises it itself; torch raises it too, for what it cannot do.
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
        words = f"the code printed more than {PRINTED >> 20} MiB, or wrote it into a file: does it go on without end?"
        return PrintedTooMuch(words, call, tuple(where))
    if kind == "SystemExit":
        return Raised(f"sys.exit({message}) was called", call, tuple(where))
    return Raised(f"{kind}: {message}" if message else kind, call, tuple(where))


def other_weights(message: str, given: bool) -> str:
    """What torch says of weights that do not fit an object, said of the object; other messages as they are.

    Args:
        given: whether the constructor is none that the student writes.
    """
    if not (found := re.match(r"RuntimeError: Error\(s\) in loading state_dict for (\w+):", message)):
        return message
    extra, missing = (
        ", ".join(re.findall(r'"([^"\n]+)"', "".join(re.findall(rf"{kind} key\(s\)[^\n]*", message))))
        for kind in ("Missing", "Unexpected")  # in the object's own weights, and among them
    )
    words = [f"{found[1]} has a parameter or buffer too many: {extra}"] if extra else []
    words += [f"{found[1]} lacks {missing}"] if missing else []
    size = r"size mismatch for ([^:\n]+): [^\n]*?Size\(\[(.*?)\]\)[^\n]*?Size\(\[(.*?)\]\)"
    words += [f"{name} has the shape ({got}) instead of ({wanted})" for name, wanted, got in re.findall(size, message)]
    words += ["The constructors are given: do not change them"] if given else []
    return ". ".join(words)


def is_dtype_conflict(fault: BaseException | None) -> bool:
    """Whether code failed because it computes a part in float32 while the grader works in float64."""
    return isinstance(fault, Raised) and bool(re.search(r"(?i)dtype|scalar type|double", fault.message))


def needs_booleans(error: BaseException | None) -> bool:
    """Whether code raised since it used a tensor of numbers as a mask where torch takes booleans only."""
    return isinstance(error, Raised) and BOOLEANS.search(error.message) is not None
