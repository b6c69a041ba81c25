"""The trusted part of the grader: tests, workers that run students' code, comparison and reports."""

import os
import sys


def _leave_out_the_current_folder() -> None:
    """Prevent imports from the folder in which `python -m autograder` was run.

    Python puts that folder first on the import path. A folder of submissions may contain a student's folder called
    filelock. The project's own folder is moved to the end of the path instead.
    """
    folder = sys.path.pop(0)
    if os.path.realpath(folder or os.curdir) == os.path.dirname(os.path.dirname(os.path.realpath(__file__))):
        sys.path[:] = with_project(sys.path, folder)


def with_project(path: list[str], folder: str) -> list[str]:
    """Append the project's folder to an import path, or insert it before other copies, such as a server's handout."""
    copies = (place for place, entry in enumerate(path) if os.path.isdir(os.path.join(entry, "autograder")))
    place = next(copies, len(path))
    return [*path[:place], folder, *path[place:]]


if sys.argv[:1] == ["-m"] and not getattr(sys.flags, "safe_path", False):  # since Python 3.11, -P leaves it out
    _leave_out_the_current_folder()
