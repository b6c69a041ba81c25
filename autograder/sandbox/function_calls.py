"""Which functions of the student's files run inside a followed call: with what, from where, and what they return.

Calls of modules alone would not show a helper function that is called with the wrong tensor, nor the `return` that
gives back a step too early.
"""

import inspect
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.sandbox.follow import Tracer

NUMBERS = 12  # of a line that are kept


class FunctionCalls:
    """A profile function of Python (`sys.setprofile`) for one tracer."""

    def __init__(self, tracer: "Tracer") -> None:
        self.tracer = tracer
        self._open: list[tuple[FrameType, int, int]] = []  # a frame, its call, the call around that

    def start(self) -> None:
        """See the calls from now on."""
        sys.setprofile(self)

    def end(self) -> None:
        """See none any more."""
        sys.setprofile(None)

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or code.co_filename not in self.tracer.files or code.co_name[0] == "<":
            return
        if event == "call":
            starred = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + starred]
            given = [frame.f_locals.get(name) for name in names]
            if (entered := self.tracer.entered(code.co_name, frame.f_back, given)) is not None:
                self._open.append((frame, *entered))
        elif any(open_frame is frame for open_frame, _, _ in self._open):
            while True:
                open_frame, number, outside = self._open.pop()
                if open_frame is frame:
                    break
            self.tracer.left(number, outside, frame, arg)


def numbers_of(frame: FrameType) -> dict[str, float]:
    """The local variables of a frame that are numbers."""
    found = {name: value for name, value in frame.f_locals.items() if type(value) in (int, float)}
    return {name[:80]: float(value) for name, value in list(found.items())[:NUMBERS] if abs(value) < 1e15}
