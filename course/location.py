"""Find the course (the folder with `course.toml`) the way git finds a repository.

A course is a folder of assignments, solutions and notebooks. This repository is a course. The handout that students
unpack and the folder that `python -m autograder init DIR` writes are also courses. All code that needs a folder of the
course uses this module.
"""

import importlib.metadata
import os
from pathlib import Path

from course.errors import UserError

MARK = "course.toml"
VARIABLE = "AUTOGRADER_COURSE"  # set by --course DIR, for this process and the processes that it starts
ENGINE = Path(__file__).resolve().parent.parent  # the folder of the packages `autograder` and `course`


def course_folder() -> Path:
    """Return the folder of the course.

    It is the folder given by `--course` or by the environment. If neither gives a folder, it is the first folder with a
    course.toml, from the working directory upwards. Otherwise it is the engine's folder, if that is a course. On a
    shared server, the handout may be in one place while students work elsewhere.

    Raises:
        UserError: if there is no course; the message says what to do.
    """
    if named := os.environ.get(VARIABLE, ""):
        folder = Path(named).expanduser().resolve()
        if not (folder / MARK).is_file():
            raise UserError(f"{folder} is not a course: it has no {MARK}. To create one: python -m autograder init DIR")
        return folder
    here = Path.cwd()
    for folder in (here, *here.parents, ENGINE):
        if (folder / MARK).is_file():
            return folder
    raise UserError(
        f"{here} is not in a course: neither it nor a folder above it has a {MARK}. Change to the folder of your "
        "course, name it with --course DIR, or create one: python -m autograder init DIR"
    )


def checkpoints() -> Path:
    """Return the folder of the course's trained models."""
    return course_folder() / "checkpoints"


def project_files() -> Path:
    """Return the folder of the engine's files other than modules, such as constraints.txt and grade.py."""
    if (ENGINE / MARK).is_file():
        return ENGINE
    for file in importlib.metadata.files("transformer-course") or ():
        if file.parts[-3:] == ("share", "autograder", "grade.py"):
            return Path(str(file.locate())).parent
    raise UserError(f"the engine in {ENGINE} is not installed completely: install its wheel with pip")


def choose(folder: str) -> None:
    """Use this course from now on, in this process and in the processes that it starts."""
    os.environ[VARIABLE] = str(Path(folder).expanduser().resolve())


def refuse_planted(submissions: Path) -> None:
    """Refuse to run hidden tests with a course that a student may have handed in.

    The tests of a course are trusted code. If a command were run inside a submission, a course.toml there would be
    found first.

    Raises:
        UserError: if the course is among the submissions, or is inside another course and was not named explicitly.
    """
    folder = course_folder()
    if folder.is_relative_to(submissions.resolve()):
        raise UserError(f"{folder / MARK} is among the submissions: run this command outside them, or name your course")
    outer = next((parent for parent in folder.parents if (parent / MARK).is_file()), None)
    if outer and not os.environ.get(VARIABLE):
        raise UserError(f"{folder} is a course inside the course {outer}: say with --course DIR which one you mean")


def inside(path: Path) -> str:
    """Format a path for messages: relative to the course's folder, if it is inside that folder."""
    folder = course_folder()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
