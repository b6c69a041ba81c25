"""Trace the calls of student functions: their arguments, their callers and their results.

Tracing only the calls to modules would not reveal a helper function called with the wrong tensor, or a `return` that
comes one step too early.
"""

import inspect
from types import FrameType
from typing import TYPE_CHECKING, Any

from autograder.worker.ready_made_parts import is_trusted
from autograder.worker.reflection import trace, variables
from autograder.worker.tracing.traced_values import Frame

if TYPE_CHECKING:
    from autograder.worker.tracing.tracer import Tracer


class FunctionCalls:
    """A Python trace function (`sys.settrace`) that belongs to one tracer."""

    def __init__(self, tracer: "Tracer") -> None:
        self.tracer = tracer
        self.open: list[tuple[Frame, int, int]] = []  # a running function, its call, the enclosing call

    def start(self) -> None:
        """Start tracing calls."""
        trace(self)

    def end(self) -> None:
        """Stop tracing calls."""
        trace(None)

    def __call__(self, frame: FrameType, event: str, arg: Any) -> "FunctionCalls | _Lent | None":
        if event == "call":
            return self._called(frame)
        if event == "line" and self.tracer.whole and self.open and self.open[-1][0].frame is frame:
            self.open[-1][0].begin(frame.f_lineno)
            self.tracer.begun.add((frame.f_code.co_filename, frame.f_lineno))
        elif event == "return":
            self._returned(frame, arg)
        return self

    def _called(self, frame: FrameType) -> "FunctionCalls | _Lent | None":
        code, caller = frame.f_code, frame.f_back
        of_student = code.co_filename in self.tracer.files
        lent = (
            not of_student
            and is_trusted(code)
            and caller is not None
            and caller.f_code.co_filename in self.tracer.files
        )
        if not (of_student or lent) or code.co_name[0] == "<" or code.co_flags & inspect.CO_GENERATOR:
            return None
        starred = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + starred]
        held = variables(frame)
        given = {name: held.get(name) for name in names}
        if (entered := self.tracer.entered(code.co_name, caller, list(given.values()))) is None:
            return None
        if lent:
            return _Lent(self.tracer, *entered)
        running = Frame(self.tracer, frame)
        running.given(given, self.open[-1][0] if self.open else None)
        self.open.append((running, *entered))
        return self

    def _returned(self, frame: FrameType, value: Any) -> None:
        if not any(running.frame is frame for running, _, _ in self.open):
            return
        while True:
            function, number, outside = self.open.pop()
            if function.frame is frame:
                break
        if self.tracer.whole and (node := function.returned(value)) >= 0:
            if self.open:
                self.open[-1][0].came_back.append(node)
            else:
                self.tracer.plain_result = node, value
        self.tracer.left(number, outside, frame, value)


class _Lent:
    """A running function of a stand-in, called by the student's code; only its inputs and outputs are traced."""

    def __init__(self, tracer: "Tracer", number: int, outside: int) -> None:
        self.tracer, self.number, self.outside = tracer, number, outside

    def __call__(self, frame: FrameType, event: str, arg: Any) -> "_Lent":
        frame.f_trace_lines = False
        if event == "return":
            self.tracer.left(self.number, self.outside, None, arg)
        return self
