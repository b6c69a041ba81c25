"""Which libraries the code of a submission can import: the same ones everywhere, confined or not.

What is installed differs from machine to machine, and a confined worker reads the files of few libraries. So the
students' modules get an `import` of their own, which knows these libraries and the modules of the assignment.
"""

import builtins
import sys
from collections.abc import Container, Sequence
from typing import Any

from autograder.forbidden.lists import LIBRARIES
from course import HOMES

# Of `course`, a confined worker has what students import from it, and no module beside that.
OF_COURSE = {"course", "course.*", *HOMES.values(), *(f"course.{name}" for name in HOMES)}
OF_COURSE |= {home.rpartition(".")[0] for home in HOMES.values()}
TOLD = "the standard library, numpy, torch, einops, tqdm and matplotlib"


def is_available(name: str) -> bool:
    """Whether a module is one of a library that submissions may import, if it is installed."""
    top = name.partition(".")[0]
    return top in LIBRARIES or top in sys.stdlib_module_names


def _missing_of_course(name: str, items: Sequence[str]) -> str:
    """The module of `course` that an import asks for and no graded run has; "" if there is none."""
    asked = [name, *(f"{name}.{item}" for item in items if name not in HOMES.values())]
    return next((one for one in asked if one.partition(".")[0] == "course" and one not in OF_COURSE), "")


def with_own_import(own: Container[str]) -> dict[str, Any]:
    """Python's built-in names, in which `import` finds what is available and the modules `own`."""

    def import_available(name: str, *args: Any, **kwargs: Any) -> Any:
        top, level = name.partition(".")[0], kwargs.get("level", args[3] if len(args) > 3 else 0)
        if not (level or top in own or is_available(name)):
            what = f"No module named {top!r}: {top} is not available in the graded run, which has {TOLD}"
            raise ModuleNotFoundError(what, name=top)
        items = kwargs.get("fromlist", args[2] if len(args) > 2 else ()) or ()
        if not level and top not in own and (missing := _missing_of_course(name, items)):
            what = f"No module named {missing!r}: a graded run has only what `from course import ...` offers"
            raise ModuleNotFoundError(what, name=missing)
        return builtins.__import__(name, *args, **kwargs)

    return {**vars(builtins), "__import__": import_available}
