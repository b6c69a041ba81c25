"""Import a student's modules or the reference modules from a folder, afresh each time."""

import importlib
import importlib.abc
import importlib.util
import linecache
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

from course.errors import UserError
from course.location import ENGINE

MODULE_NAMES = ("mha", "pe", "encoder", "decoder", "transformer")  # of the Transformer


@dataclass(frozen=True)
class Replaced:
    """The parts of a student's modules that are imported from stand-ins."""

    folder: Path = Path()
    modules: tuple[str, ...] = ()  # entire modules
    methods: tuple[str, ...] = ()  # single methods of other modules: "module.Class.method"


NOTHING = Replaced()


@cache
def students_modules() -> tuple[str, ...]:
    """Return the names of the modules of all assignments."""
    from autograder.manifest import assignments

    return tuple(dict.fromkeys(module for assignment in assignments().values() for module in assignment.modules))


def default_folder() -> Path:
    """Return the folder of the reference modules if it exists (for instructors), else that of the students' modules."""
    return reference_or_own("transformer")


def reference_or_own(assignment: str) -> Path:
    """Return the folder of an assignment's reference modules if it exists, otherwise that of the students' modules."""
    from autograder.manifest.course_config import home_of

    folder = home_of(assignment).folder
    reference = folder / "solutions" / assignment
    return reference if reference.is_dir() else folder / "notebooks" / assignment


def standins_of(assignment: str) -> Path:
    """Return the folder of an assignment's stand-ins, which students have even without the rest of the assignment."""
    from autograder.manifest.course_config import home_of

    return home_of(assignment).assignments / assignment / "standins"


def standins_with(module: str) -> Path:
    """Return the folder of the stand-ins that contain a module, in this course or in an installed package.

    Raises:
        UserError: if there is none.
    """
    from autograder.manifest.course_config import course_config, courses_of_packages

    config = course_config()
    for place in (config, *courses_of_packages(config.packages)):
        for file in sorted(place.assignments.glob(f"*/standins/{module}.py")):
            return file.parent
    raise UserError(f"there are no stand-ins with {module}.py in {config.assignments}")


def load_modules(
    folder: Path | None = None, names: tuple[str, ...] = MODULE_NAMES, replaced: Replaced = NOTHING
) -> SimpleNamespace:
    """Import modules from a folder, except replaced modules; by default, import the five modules of the Transformer.

    The modules import each other by bare name. They are removed from `sys.modules` afterwards, so that two
    folders can be loaded side by side and an older import never hides an edited file.

    Raises:
        UserError: if the folder or a module is missing, or a module cannot be imported; the message says why.
    """
    folder = default_folder() if folder is None else folder
    if missing := [f"{name}.py" for name in names if not (folder / f"{name}.py").is_file()]:
        raise UserError(f"{folder} lacks {', '.join(missing)}")
    with _fresh(folder, replaced):
        return SimpleNamespace(**{name: _import(name) for name in names})


def load_module(name: str, folder: Path, replaced: Replaced = NOTHING) -> ModuleType:
    """Import a single module of an assignment, with the modules that it imports, as `load_modules` does.

    Raises:
        UserError: if there is no such module, or it cannot be imported; the message says why, and on which line.
    """
    if name not in students_modules():
        raise UserError(f"there is no module {name!r}; the modules are {', '.join(students_modules())}")
    if not (folder / f"{name}.py").is_file():
        raise UserError(f"there is no {name}.py in {folder.resolve()}")
    with _fresh(folder, replaced):
        return _import(name)


def _import(name: str) -> ModuleType:
    """Import a module by its bare name; any exception becomes a `UserError`."""
    try:
        return importlib.import_module(name)
    except SyntaxError as error:
        file, text = Path(error.filename or f"{name}.py").name, (error.text or "").strip()
        raise UserError(f"{file}, line {error.lineno}: {error.msg}" + (f": {text}" if text else "")) from error
    except Exception as error:  # any exception of the student's code
        raise UserError(f"{name}.py cannot be imported: {describe(error)}") from error


def describe(error: Exception) -> str:
    """Describe an exception in one line, with the last line of the student's modules in its traceback."""
    kind = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    place = place_of(error)
    if place is None:
        return kind
    none = isinstance(error, (TypeError, AttributeError)) and "NoneType" in str(error)
    advice = ". NoneType means that a method returns nothing: is there a `return`?" if none else ""
    return f"{Path(place.filename).name}, line {place.lineno}, {place.line}: {kind}{advice}"


def place_of(error: BaseException) -> traceback.FrameSummary | None:
    """Return the last line of the student's modules (not of stand-ins) in an exception's traceback."""
    names = {f"{name}.py" for name in students_modules()}
    frames = [(Path(frame.filename), frame) for frame in traceback.extract_tb(error.__traceback__)]
    student_frames = [
        frame
        for file, frame in frames
        if file.name in names and file.parent.name != "standins" and not file.is_relative_to(ENGINE / "autograder")
    ]
    return student_frames[-1] if student_frames else None


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that are replaced entirely."""

    def __init__(self, replaced: Replaced) -> None:
        self.replaced = replaced

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self.replaced.modules:
            return None
        return importlib.util.spec_from_file_location(name, self.replaced.folder / f"{name}.py")


def _lend_methods(replaced: Replaced) -> None:
    """Copy the methods of stand-ins into the classes of the imported modules."""
    for written in replaced.methods:
        name, owner, method = written.split(".")
        if name not in sys.modules:
            continue
        spec = importlib.util.spec_from_file_location(f"standin_{name}", replaced.folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        standin = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(standin)
        if hasattr(sys.modules[name], owner):
            setattr(getattr(sys.modules[name], owner), method, getattr(getattr(standin, owner), method))


@contextmanager
def _fresh(folder: Path, replaced: Replaced) -> Iterator[None]:
    hidden: dict[str, ModuleType | None] = {name: sys.modules.pop(name, None) for name in students_modules()}
    sys.path.insert(0, str(folder.resolve()))
    importlib.invalidate_caches()
    linecache.checkcache()  # tracebacks show the current lines of the files
    # Compiled files store the source's timestamp in whole seconds: an edit within the same second would be missed.
    without_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    finder = _Finder(replaced)
    sys.meta_path.insert(0, finder)
    try:
        yield
        _lend_methods(replaced)
    finally:
        sys.meta_path.remove(finder)
        sys.dont_write_bytecode = without_bytecode
        sys.path.remove(str(folder.resolve()))
        for name, module in hidden.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
