"""Close Python's ways from a function or a frame to the objects of others, and from strings to code.

A worker runs a student's code in the same process as stand-ins, guards and torch's hidden modules. Python keeps no
secrets: a function shows its globals and its closure, a frame its variables, `gc` all objects, and `ctypes` the memory.
Here these doors are closed for all code but the grader's own. Code is told apart by the file in its code object, which
cannot be forged: no more code is made from strings, except by the few modules in `GENERATING`.

A student's own run closes them to the student's code only, so that libraries can be imported late.
"""

import ctypes
import gc
import os
import sys
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any, NoReturn

import autograder
from autograder.forbidden.lists import BY_NAME, CALLS_BY_STRING, FILES, LEADING_ATTRIBUTES, LEADING_OR_OWN, NAMESPACES
from autograder.worker.allowed_modules import STUDENT

STANDARD = os.path.dirname(os.__file__) + os.sep
OWN = tuple(path + os.sep for path in autograder.__path__)
# Modules that make code from strings for honest programs, which use none of the names below.
GENERATING = tuple(STANDARD + file for file in ("dataclasses.py", "typing.py", "timeit.py"))
GENERATING += (os.path.join(STANDARD, "collections", "__init__.py"),)
NEVER_GENERATED = LEADING_ATTRIBUTES | LEADING_OR_OWN | CALLS_BY_STRING | BY_NAME | NAMESPACES | FILES
NEVER_GENERATED |= {"sys", "gc", "ops", "inspect"}
# What Python reports before it happens (PEP 578); all other events are permitted here.
EVENTS = {"exec", "code.__new__", "function.__new__", "marshal.loads", "marshal.load", "sys.settrace"}
EVENTS |= {"gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._current_frames", "sys._current_exceptions"}
WHY = "graded code cannot look into other functions, or run code from strings"

_to_libraries = True  # whether the doors are closed to libraries, too


def close(to_libraries: bool = False) -> None:
    """Close the doors, for the rest of this process."""
    global _to_libraries
    _to_libraries = to_libraries
    if isinstance(vars(FunctionType)["__globals__"], property):
        return
    _hide(FunctionType, "__globals__", "__closure__", "__builtins__")
    _hide(CellType, "cell_contents")
    # The modules that print tracebacks read the globals of frames.
    _hide(FrameType, "f_globals", instead=lambda frame, before: {"__name__": before(frame).get("__name__")})
    _hide(FrameType, "f_locals", "f_builtins", instead=lambda frame, before: {})
    for name in ("memmove", "memset", "cast", "string_at", "wstring_at", "_memmove_addr", "_cast", "_string_at"):
        vars(ctypes).pop(name, None)
    vars(sys)["setprofile"] = _refuse  # cProfile does without it, and causes the same event
    sys.addaudithook(_look)


def _hide(kind: type, *names: str, instead: Any = None) -> None:
    """Make some attributes of a built-in class visible to the grader's code only."""
    attributes = gc.get_referents(vars(kind))[0]  # behind the read-only view
    for name in names:
        attributes[name] = _hidden(attributes[name], name, instead)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _hidden(descriptor: Any, name: str, instead: Any) -> property:
    def read(owner: Any) -> Any:
        if _is_open_to(sys._getframe(1)):
            return descriptor.__get__(owner)
        if instead is not None:
            return instead(owner, descriptor.__get__)
        raise AttributeError(f"{name}: {WHY}")

    def write(owner: Any, value: Any) -> None:
        if not _is_open_to(sys._getframe(1)):
            raise AttributeError(f"{name}: {WHY}")
        descriptor.__set__(owner, value)

    return property(read, write)


def _is_open_to(frame: FrameType | None) -> bool:
    """Whether a frame runs the grader's code, or a library's if the doors are open to libraries."""
    file = frame.f_code.co_filename if frame else ""
    if file.startswith(OWN) or _to_libraries:
        return file.startswith(OWN)
    while frame and file.startswith(STANDARD) and "-packages" not in file:
        frame = frame.f_back
        file = frame.f_code.co_filename if frame else ""
    return not STUDENT.fullmatch(file)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    changes_code = event == "object.__setattr__" and arguments[1] == "__code__"
    if not (changes_code or event in EVENTS or event.startswith("ctypes.")):
        return
    caller = sys._getframe(1)
    generates = event in ("exec", "function.__new__") and caller.f_code.co_filename in GENERATING
    if not (_is_open_to(caller) or (generates and _is_harmless(arguments[0]))):
        raise RuntimeError(WHY)


def _refuse(*_: Any) -> NoReturn:
    raise RuntimeError(WHY)


def _is_harmless(code: CodeType) -> bool:
    codes = [code]
    for each in codes:
        codes += [inner for inner in each.co_consts if isinstance(inner, CodeType)]
    return NEVER_GENERATED.isdisjoint(name for each in codes for name in (*each.co_names, *each.co_varnames))
