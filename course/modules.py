"""Import the five modules of the assignment from a folder, fresh every time."""

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

from course.errors import UserError

MODULE_NAMES = ("mha", "pe", "encoder", "decoder", "transformer")
ROOT = Path(__file__).resolve().parent.parent


def default_folder() -> Path:
    """The reference modules where they are present (instructors), otherwise the students' modules."""
    reference = ROOT / "solutions" / "transformer"
    return reference if reference.is_dir() else ROOT / "notebooks" / "transformer"


def load_modules(folder: Path | None = None) -> SimpleNamespace:
    """Import `mha`, `pe`, `encoder`, `decoder` and `transformer` from a folder.

    The modules import each other by these bare names. They are taken out of `sys.modules` again, so that two folders
    can be loaded side by side and an edited file is never hidden by an older import.

    Raises:
        UserError: if the folder or a module is missing.
    """
    folder = default_folder() if folder is None else folder
    if missing := [f"{name}.py" for name in MODULE_NAMES if not (folder / f"{name}.py").is_file()]:
        raise UserError(f"{folder} lacks {', '.join(missing)}")
    hidden: dict[str, ModuleType | None] = {name: sys.modules.pop(name, None) for name in MODULE_NAMES}
    sys.path.insert(0, str(folder.resolve()))
    importlib.invalidate_caches()
    # Compiled files carry the time of the source in whole seconds: an edit within the same second would be missed.
    without_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return SimpleNamespace(**{name: importlib.import_module(name) for name in MODULE_NAMES})
    finally:
        sys.dont_write_bytecode = without_bytecode
        sys.path.remove(str(folder.resolve()))
        for name, module in hidden.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
