"""The libraries that a submission can import, which are the same everywhere, with and without confinement.

Installed libraries differ between machines, and a confined worker can read the files of only a few libraries. So
student modules get their own `import`, which finds these libraries and the assignment's modules.
"""

import builtins
import sys
from collections.abc import Container, Sequence
from types import SimpleNamespace
from typing import Any

from autograder.forbidden.lists import LIBRARIES
from course import HOMES

# A confined worker has only those parts of `course` that students import.
OF_COURSE = {"course", "course.*", *HOMES.values(), *(f"course.{name}" for name in HOMES)}
OF_COURSE |= {home.rpartition(".")[0] for home in HOMES.values()}
MARKS = "autograder_steps"  # no real module: with it, the grader's references mark their named steps
NAMED = "the standard library, numpy, torch, einops, tqdm and matplotlib"


def is_available(name: str) -> bool:
    """Whether submissions may import a module, provided that its library is installed."""
    top = name.partition(".")[0]
    return top in LIBRARIES or top in sys.stdlib_module_names


def _missing_of_course(name: str, items: Sequence[str]) -> str:
    """Return the first requested module of `course` that is not available in graded runs; "" if there is none."""
    asked = [name, *(f"{name}.{item}" for item in items if name not in HOMES.values())]
    return next((module for module in asked if module.partition(".")[0] == "course" and module not in OF_COURSE), "")


def with_own_import(modules: Container[str], step: Any) -> dict[str, Any]:
    """Return Python's built-ins, with an `import` that finds the available libraries and the given modules.

    Args:
        step: marks a named step, in references.
    """

    def import_available(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == MARKS:
            return SimpleNamespace(step=step)
        top, level = name.partition(".")[0], kwargs.get("level", args[3] if len(args) > 3 else 0)
        if not (level or top in modules or is_available(name)):
            message = f"No module named {top!r}: {top} is not available in the graded run, which offers {NAMED}"
            raise ModuleNotFoundError(message, name=top)
        items = kwargs.get("fromlist", args[2] if len(args) > 2 else ()) or ()
        if not level and top not in modules and (missing := _missing_of_course(name, items)):
            message = f"No module named {missing!r}: a graded run has only what `from course import ...` offers"
            raise ModuleNotFoundError(message, name=missing)
        return builtins.__import__(name, *args, **kwargs)

    return {**vars(builtins), "__import__": import_available}
