"""In a worker: an exception as text for the grader, with the lines of the student's files that it went through."""

import re
import traceback
from typing import Any

from autograder.sandbox.unwritten import unwritten


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as text: its kind, its message, and the lines of the student's modules it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [[f.filename, f.lineno, f.name, f.line] for f in frames if re.fullmatch(r"\w+\.py", f.filename)]
    if isinstance(error, SyntaxError):
        where.append([error.filename, error.lineno, "", (error.text or "").strip()])
        message = error.msg
    else:
        message = str(error) + _arguments(error)
    reply: dict[str, Any] = {"kind": type(error).__name__, "message": str(message)[:4000], "where": where[-8:]}
    if isinstance(error, NameError) and where:
        last = [frame for frame in frames if re.fullmatch(r"\w+\.py", frame.filename)][-1]
        reply["unwritten"] = unwritten(error, last.filename, last.name, last.lineno or 0)
    return reply


def _arguments(error: BaseException) -> str:
    """The arguments of the student's innermost function that the message of an exception mentions, in a line each.

    It may be a given function that was called wrongly: "argument 'device' must be torch.device" does not say by whom.
    """
    lines = ""
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        if re.fullmatch(r"\w+\.py", frame.f_code.co_filename):
            names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
            for name in names if "self" not in names else ():
                if not re.search(rf"(?<![.\w]){name}\b", str(error)):
                    continue
                value = repr(frame.f_locals.get(name))[:80]
                if "\n" not in value:
                    lines += f"\n{frame.f_code.co_name} was called with {name}={value}"
            break
    return lines
