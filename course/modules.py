"""Import the modules of a student or of the reference from a folder, fresh every time."""

import importlib
import linecache
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

from course.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
MODULE_NAMES = ("mha", "pe", "encoder", "decoder", "transformer")  # of the Transformer, which translates
STANDINS = ROOT / "autograder" / "assignments" / "transformer" / "standins"  # it on torch's own layers


@cache
def students_modules() -> tuple[str, ...]:
    """The names of the modules of all assignments."""
    from autograder.manifest import assignments

    return tuple(dict.fromkeys(module for one in assignments().values() for module in one.modules))


def default_folder() -> Path:
    """The reference modules where they are present (instructors), otherwise the students' modules."""
    reference = ROOT / "solutions" / "transformer"
    return reference if reference.is_dir() else ROOT / "notebooks" / "transformer"


def load_modules(folder: Path | None = None, names: tuple[str, ...] = MODULE_NAMES) -> SimpleNamespace:
    """Import modules from a folder: `mha`, `pe`, `encoder`, `decoder` and `transformer`, or others.

    The modules import each other by these bare names. They are taken out of `sys.modules` again, so that two folders
    can be loaded side by side and an edited file is never hidden by an older import.

    Raises:
        UserError: if the folder or a module is missing.
    """
    folder = default_folder() if folder is None else folder
    if missing := [f"{name}.py" for name in names if not (folder / f"{name}.py").is_file()]:
        raise UserError(f"{folder} lacks {', '.join(missing)}")
    with _fresh(folder):
        return SimpleNamespace(**{name: importlib.import_module(name) for name in names})


def load_module(name: str, folder: Path) -> ModuleType:
    """Import one of the modules of an assignment, with those that it imports, as `load_modules` does.

    Raises:
        UserError: if there is no such module, or it cannot be imported; the message says why, and in which line.
    """
    if name not in students_modules():
        raise UserError(f"there is no module {name!r}; the modules are {', '.join(students_modules())}")
    if not (folder / f"{name}.py").is_file():
        raise UserError(f"there is no {name}.py in {folder.resolve()}")
    try:
        with _fresh(folder):
            return importlib.import_module(name)
    except SyntaxError as error:
        file, text = Path(error.filename or f"{name}.py").name, (error.text or "").strip()
        raise UserError(f"{file}, line {error.lineno}: {error.msg}" + (f": {text}" if text else "")) from error
    except Exception as error:  # whatever the student's code raises
        raise UserError(f"{name}.py cannot be imported: {describe(error)}") from error


def describe(error: Exception) -> str:
    """An exception in a line, with the last line of the student's modules that it went through."""
    kind = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    place = place_of(error)
    return f"{Path(place.filename).name}, line {place.lineno}, {place.line}: {kind}" if place else kind


def place_of(error: BaseException) -> traceback.FrameSummary | None:
    """The last line of the student's modules that an exception went through."""
    names = {f"{name}.py" for name in students_modules()}
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame for frame in reversed(frames) if Path(frame.filename).name in names), None)


@contextmanager
def _fresh(folder: Path) -> Iterator[None]:
    hidden: dict[str, ModuleType | None] = {name: sys.modules.pop(name, None) for name in students_modules()}
    sys.path.insert(0, str(folder.resolve()))
    importlib.invalidate_caches()
    linecache.checkcache()  # tracebacks show the lines of the files as they are now
    # Compiled files carry the time of the source in whole seconds: an edit within the same second would be missed.
    without_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = without_bytecode
        sys.path.remove(str(folder.resolve()))
        for name, module in hidden.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
