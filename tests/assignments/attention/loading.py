"""The modules of `attention` for its tests: the reference, the stand-ins, and other texts."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

from autograder.manifest import assignment
from course.modules import load_modules

ASSIGNMENT = assignment("attention")


def reference() -> SimpleNamespace:
    return load_modules(ASSIGNMENT.solution, ASSIGNMENT.modules)


def standins() -> SimpleNamespace:
    return load_modules(ASSIGNMENT.standins, ASSIGNMENT.modules)


def texts(sources: Mapping[str, str], folder: Path) -> SimpleNamespace:
    """Modules with these source texts."""
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return load_modules(folder, ASSIGNMENT.modules)
