"""Close Python's ways from a function or a frame to the objects of others, and from strings to code.

A worker runs a student's code in the same process as stand-ins, guards and torch's hidden modules. Python keeps no
secrets: a function shows its globals and its closure, a frame its variables, `gc` all objects, and `ctypes` the memory.
Here these doors are closed, except to the insides of the student's own functions. The grader's code uses the functions
of this module instead. Code is told apart by the file in its code object, which cannot be forged: no more code is made
from strings, except by the modules in `GENERATING`.

In a student's own run, the doors are closed only to the student's code, so that libraries can be imported late.
"""

import ctypes
import dis
import gc
import os
import re
import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NoReturn

from autograder.forbidden.lists import BY_NAME, CALLS_BY_STRING, LEADING_ATTRIBUTES, NAMESPACES

STUDENT = re.compile(r"\w+\.py")  # file names of student modules, which are compiled from strings and have no folder
STANDARD = os.path.dirname(os.__file__) + os.sep
# Modules that make code from strings for honest programs, which use none of the names below.
GENERATING = tuple(STANDARD + file for file in ("dataclasses.py", "typing.py", "timeit.py"))
GENERATING += tuple(
    STANDARD + os.path.join(*path) for path in (("collections", "__init__.py"), ("unittest", "mock.py"))
)
NEVER_LOADED = CALLS_BY_STRING | BY_NAME | NAMESPACES | {"open", "sys", "gc", "inspect"}
LONGEST = 8_000  # bytes of generated code: a dataclass with 100 fields needs fewer
# What Python reports before it happens (PEP 578); all other events are permitted here.
EVENTS = {"exec", "code.__new__", "function.__new__", "marshal.loads", "marshal.load", "sys.settrace"}
EVENTS |= {"gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._current_frames", "sys._current_exceptions"}
WHY = "graded code cannot look into other functions, or run code from strings"

_read_function = {name: vars(FunctionType)[name].__get__ for name in ("__globals__", "__closure__", "__builtins__")}
_read_frame = {name: vars(FrameType)[name].__get__ for name in ("f_globals", "f_locals", "f_builtins")}
getframe = sys._getframe  # bound here, since student code can replace what other modules hold
_closed = _to_libraries = False
_permitted = False  # whether the next event is the grader's own


def close(to_libraries: bool = False) -> None:
    """Close the doors, for the rest of this process."""
    global _closed, _to_libraries
    _to_libraries = to_libraries
    if _closed:
        return
    _closed = True
    _replace(FunctionType, {name: _of_function(name) for name in _read_function})
    _replace(FrameType, {name: _of_frame(name) for name in _read_frame})
    subclasses = type.__subclasses__
    _replace(type, {"__subclasses__": lambda kind: [each for each in subclasses(kind) if not _is_of_grader(each)]})
    of_builtin = type(len)
    owner = vars(of_builtin)["__self__"].__get__
    _replace(of_builtin, {"__self__": property(lambda function: _no_module(owner(function)))})
    for name in ("memmove", "memset", "cast", "string_at", "wstring_at", "_memmove_addr", "_cast", "_string_at"):
        vars(ctypes).pop(name, None)
    vars(sys)["setprofile"] = _refuse  # cProfile does without it, and causes the same event
    sys.addaudithook(_look)


def is_closed() -> bool:
    """Whether the doors are closed."""
    return _closed


# For the grader's code


def variables(frame: FrameType) -> Any:
    """Return a frame's variables by name."""
    return _read_frame["f_locals"](frame)


def globals_of(owner: FunctionType | FrameType) -> dict[str, Any]:
    """Return the global variables of a function or frame."""
    read = _read_frame["f_globals"] if isinstance(owner, FrameType) else _read_function["__globals__"]
    found: dict[str, Any] = read(owner)
    return found


def closure_of(function: FunctionType) -> Any:
    """Return the cells of a function's closure, or None."""
    return _read_function["__closure__"](function)


def run(code: CodeType, namespace: dict[str, Any]) -> None:
    """Run a module's code."""
    _as_grader(exec, code, namespace)


def set_code(function: FunctionType, code: CodeType) -> None:
    """Replace the code of a function."""
    _as_grader(setattr, function, "__code__", code)


def changed_code(code: CodeType, **changes: Any) -> CodeType:
    """Return a copy of code with some attributes changed."""
    changed: CodeType = _as_grader(code.replace, **changes)
    return changed


def new_function(*arguments: Any) -> FunctionType:
    """Create a function; the arguments are those of `types.FunctionType`."""
    function: FunctionType = _as_grader(FunctionType, *arguments)
    return function


def trace(function: Callable[..., Any] | None) -> None:
    """Call a function for each event of the code that runs, or no longer (`sys.settrace`)."""
    _as_grader(sys.settrace, function)


def _as_grader(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call something that causes one event, and permit this event."""
    global _permitted
    _permitted = _closed
    try:
        return call(*args, **kwargs)
    finally:
        _permitted = False


# For everybody else


def _replace(kind: type, attributes: dict[str, Any]) -> None:
    """Replace attributes of a built-in class."""
    gc.get_referents(vars(kind))[0].update(attributes)  # behind the read-only view
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _of_function(name: str) -> property:
    def read(function: FunctionType) -> Any:
        if STUDENT.fullmatch(function.__code__.co_filename) or _is_open_to(getframe(1)):
            return _read_function[name](function)
        raise AttributeError(f"{name}: {WHY}")

    return property(read)


def _of_frame(name: str) -> property:
    def read(frame: FrameType) -> Any:
        if STUDENT.fullmatch(frame.f_code.co_filename) or _is_open_to(getframe(1)):
            return _read_frame[name](frame)
        # The modules that print tracebacks read the globals of frames.
        return {"__name__": globals_of(frame).get("__name__")} if name == "f_globals" else {}

    return property(read)


def _is_open_to(frame: FrameType | None) -> bool:
    """Whether the doors are open to the code that a frame runs: in a student's own run, they are to libraries."""
    if _to_libraries:
        return False
    while frame and frame.f_code.co_filename.startswith(STANDARD) and "-packages" not in frame.f_code.co_filename:
        frame = frame.f_back
    return not STUDENT.fullmatch(frame.f_code.co_filename if frame else "")


def _is_of_grader(kind: type) -> bool:
    return str(vars(kind).get("__module__")).startswith("autograder.")


def _no_module(owner: Any) -> Any:
    """Pass on the object to which a built-in method belongs; those of modules lead to `sys` and `builtins`."""
    if isinstance(owner, ModuleType) and not _is_open_to(getframe(2)):
        raise AttributeError(f"__self__: {WHY}")
    return owner


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    global _permitted
    changes_code = event == "object.__setattr__" and arguments[1] == "__code__"
    if not (changes_code or event in EVENTS or event.startswith("ctypes.")):
        return
    if _permitted:
        _permitted = False
        return
    caller = getframe(1)
    generates = event in ("exec", "function.__new__") and _generates(caller)
    if not (_is_open_to(caller) or (generates and _is_harmless(arguments[0]))):
        raise RuntimeError(f"{WHY} ({event})")


def _refuse(*_: Any) -> NoReturn:
    raise RuntimeError(WHY)


def _generates(frame: FrameType) -> bool:
    """Whether a frame runs a module that generates code, called by its public functions."""
    file, caller = frame.f_code.co_filename, frame.f_back
    public = file.endswith(("__init__.py", "timeit.py")) or (caller is not None and caller.f_code.co_filename == file)
    return public and file in GENERATING


def _is_harmless(code: CodeType) -> bool:
    """Whether generated code reads no global variable and no attribute that would give access to more."""
    codes = [code]
    for each in codes:
        codes += [inner for inner in each.co_consts if isinstance(inner, CodeType)]
    if sum(len(each.co_code) for each in codes) > LONGEST:
        return False
    if (NEVER_LOADED | LEADING_ATTRIBUTES).isdisjoint(name for each in codes for name in each.co_names):
        return True
    steps = [step for each in codes for step in dis.get_instructions(each)]
    loaded = {str(step.argval) for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return loaded.isdisjoint(NEVER_LOADED) and not any(step.argval in LEADING_ATTRIBUTES for step in steps)
