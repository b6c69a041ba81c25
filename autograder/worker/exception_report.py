"""In a worker: an exception as text for the grader, with the lines of the student's files that it went through."""

import contextlib
import linecache
import re
import sys
import traceback
from types import FrameType
from typing import Any

from autograder.worker.stub_detection import is_stub

LATER = {  # versions of Python, and what the message and the line look like if an earlier one is given their syntax
    (3, 11): r"\n\s*except\s*\*",
    (3, 12): r"^f-string|\n\s*(type\s+\w+\s*(\[.*\])?\s*=|(async\s+)?def\s+\w+\s*\[|class\s+\w+\s*\[)",
    (3, 14): r"\n\s*except\s+[\w.]+\s*,|^invalid syntax\n.*\bt[\"']",
}
SHAPES = 6  # of tensors, and whole numbers, that are told of a line


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as text: its kind, its message, and the lines of the student's modules it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [[f.filename, f.lineno, f.name, f.line] for f in frames if re.fullmatch(r"\w+\.py", f.filename)]
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
    """What is wrong with a file that is not Python, and why it may be Python elsewhere."""
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
    """The shapes of the tensors that a line names, and its whole numbers, where torch has raised an exception there."""
    # A message may be endless; where torch says what is wrong, that stands at its beginning.
    about = re.search(r"(?i)shape|size|dimension|index|elements|broadcast", str(error)[:1000])
    if not about or line.startswith("raise") or isinstance(error, SyntaxError):
        return ""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    frame = next((one for one in reversed(frames) if re.fullmatch(r"\w+\.py", one.f_code.co_filename)), None)
    names = dict.fromkeys(re.findall(r"(?<![.\w])(?:self\.)?[^\W\d]\w*(?!\w|\()", line))
    found = [told for name in names if frame and (told := _told(frame, name))]
    return ", ".join(found[:SHAPES])


def _told(frame: FrameType, name: str) -> str:
    """A name with the shape of its tensor, or its whole number; "" for all else."""
    torch, held = sys.modules.get("torch"), frame.f_locals
    if name.startswith("self."):
        with contextlib.suppress(Exception):  # it may be any object
            own = object.__getattribute__(held.get("self"), "__dict__")
            held = {**own, **own.get("_buffers", {}), **own.get("_parameters", {})}
    value: Any = held.get(name.removeprefix("self."))
    if torch and type(value) in (torch.Tensor, torch.nn.Parameter):
        return f"{name} {tuple(value.shape)}"
    return f"{name} = {value}" if type(value) is int and abs(value) < 10**9 else ""


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
