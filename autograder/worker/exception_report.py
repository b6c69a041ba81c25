"""In a worker: describe an exception for the grader, with the student's lines from its traceback."""

import contextlib
import linecache
import re
import sys
import traceback
from types import FrameType
from typing import Any

from autograder.worker.reflection import variables
from autograder.worker.stub_detection import is_stub

LATER = {  # version -> pattern of the message and line when an older Python reads its syntax
    (3, 11): r"\n\s*except\s*\*",
    (3, 12): r"^f-string|\n\s*(type\s+\w+\s*(\[.*\])?\s*=|(async\s+)?def\s+\w+\s*\[|class\s+\w+\s*\[)",
    (3, 14): r"\n\s*except\s+[\w.]+\s*,|^invalid syntax\n.*\bt[\"']",
}
SHAPES = 6  # tensor shapes and integers reported for a line


def describe(error: BaseException) -> dict[str, Any]:
    """Describe an exception: its kind, its message, and the lines of the student's modules in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [
        [frame.filename, frame.lineno, frame.name, frame.line]
        for frame in frames
        if re.fullmatch(r"\w+\.py", frame.filename)
    ]
    if isinstance(error, SyntaxError):
        where.append([error.filename, error.lineno, "", (error.text or "").strip()])
        message = syntax_words(error)
    else:
        message = str(error) + _arguments(error)
    if where and (shapes := _shapes(error, str(where[-1][3] or ""))):
        where[-1].append(shapes)
    reply: dict[str, Any] = {"kind": type(error).__name__, "message": str(message)[:4000], "where": where[-8:]}
    if isinstance(error, NameError) and where:
        last = [frame for frame in frames if re.fullmatch(r"\w+\.py", frame.filename)][-1]
        reply["unwritten"] = is_stub(error, last.filename, last.name, last.lineno or 0)
    return reply


def syntax_words(error: SyntaxError) -> str:
    """Explain a syntax error caused by a merge conflict, a notebook command or syntax from a newer Python."""
    lines, message = linecache.getlines(error.filename or ""), error.msg
    begin, end = (
        next((number for number, line in enumerate(lines, start=1) if line.startswith(mark)), 0)
        for mark in ("<<<<<<< ", ">>>>>>> ")
    )
    if 0 < begin < end:
        return (
            f"git has left a merge conflict in lines {begin} to {end}: "
            "keep one of the two versions, and delete the lines with <<<<<<<, ======= and >>>>>>>"
        )
    line = f"{message}\n{error.text or ''}"
    if re.search(r"\n\s*[%!]", line):
        return f"{message}: lines that begin with % or ! are for notebooks"
    later = next((version for version, pattern in LATER.items() if re.search(pattern, line)), (0, 0))
    if sys.version_info < later:
        here, there = (".".join(map(str, version[:2])) for version in (sys.version_info, later))
        return f"{message}: the grader runs Python {here}, and this may need Python {there}"
    return message


def _shapes(error: BaseException, line: str) -> str:
    """Return the tensor shapes and integers that a line's names refer to, if the exception is about shapes or sizes."""
    # A message may be very long; torch states the problem at the beginning.
    about = re.search(r"(?i)shape|size|dimension|index|elements|broadcast", str(error)[:1000])
    if not about or line.startswith("raise") or isinstance(error, SyntaxError):
        return ""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    frame = next(
        (candidate for candidate in reversed(frames) if re.fullmatch(r"\w+\.py", candidate.f_code.co_filename)), None
    )
    names = dict.fromkeys(re.findall(r"(?<![.\w])(?:self\.)?[^\W\d]\w*(?!\w|\()", line))
    shapes = [shape for name in names if frame and (shape := _shape_text(frame, name))]
    return ", ".join(shapes[:SHAPES])


def _shape_text(frame: FrameType, name: str) -> str:
    """Return a name with the shape of its tensor, or with its integer value; "" for anything else."""
    torch, held = sys.modules.get("torch"), variables(frame)
    if name.startswith("self."):
        with contextlib.suppress(Exception):  # may be any object
            attributes = object.__getattribute__(held.get("self"), "__dict__")
            held = {**attributes, **attributes.get("_buffers", {}), **attributes.get("_parameters", {})}
    value: Any = held.get(name.removeprefix("self."))
    if torch and type(value) in (torch.Tensor, torch.nn.Parameter):
        return f"{name} {tuple(value.shape)}"
    return f"{name} = {value}" if type(value) is int and abs(value) < 10**9 else ""


def _arguments(error: BaseException) -> str:
    """Return the arguments of the innermost student function that are named in an exception's message, one per line.

    A provided function may have received a wrong argument. A message such as "argument 'device' must be torch.device"
    does not name its caller.
    """
    lines = ""
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        if re.fullmatch(r"\w+\.py", frame.f_code.co_filename):
            names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
            for name in names if "self" not in names else ():
                if not re.search(rf"(?<![.\w]){name}\b", str(error)):
                    continue
                value = repr(variables(frame).get(name))[:80]
                if "\n" not in value:
                    lines += f"\n{frame.f_code.co_name} was called with {name}={value}"
            break
    return lines
