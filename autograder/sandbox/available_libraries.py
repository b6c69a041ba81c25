"""Which libraries the code of a submission can import: the same ones everywhere, confined or not.

What is installed differs from machine to machine, and a confined worker reads the files of few libraries. So the
students' modules get an `import` of their own, which knows these libraries and the modules of the assignment.
"""

import builtins
import sys
from collections.abc import Container
from typing import Any

from autograder.forbidden.lists import LIBRARIES

TOLD = "the standard library, numpy, torch, einops, tqdm and matplotlib"


def is_available(name: str) -> bool:
    """Whether a module is one of a library that submissions may import, if it is installed."""
    top = name.partition(".")[0]
    return top in LIBRARIES or top in sys.stdlib_module_names


def with_own_import(own: Container[str]) -> dict[str, Any]:
    """Python's built-in names, in which `import` finds what is available and the modules `own`."""

    def import_available(name: str, *args: Any, **kwargs: Any) -> Any:
        top, level = name.partition(".")[0], kwargs.get("level", args[3] if len(args) > 3 else 0)
        if not (level or top in own or is_available(name)):
            what = f"No module named {top!r}: {top} is not available in the graded run, which has {TOLD}"
            raise ModuleNotFoundError(what, name=top)
        return builtins.__import__(name, *args, **kwargs)

    return {**vars(builtins), "__import__": import_available}
