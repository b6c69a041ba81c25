"""Create a course: `python -m autograder init DIR` creates a folder in which all commands work."""

import argparse
import shutil
from pathlib import Path

from course.errors import UserError
from course.location import MARK, project_files

TEMPLATE = Path(__file__).with_name("course_template")
# Files of the project that every course has: entry points for students and nbgrader, and the tested package versions.
OWN = ("grade.py", "nbgrader_config.py", "constraints.txt")
FOLDERS = ("solutions", "notebooks")


def write(folder: Path) -> list[str]:
    """Create a new course and return the names of its files.

    Raises:
        UserError: if the folder contains anything but .git and .venv, or is inside another course.
    """
    outer = next((parent for parent in folder.resolve().parents if (parent / MARK).is_file()), None)
    if outer:
        raise UserError(f"{folder} is inside the course {outer}: choose a folder outside it, or work in that course")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is not a folder: choose a new or an empty folder")
    if there := sorted({path.name for path in folder.glob("*")} - {".git", ".venv"}):
        raise UserError(f"{folder} is not empty (it has {there[0]}): choose a new or an empty folder")
    files = {path.name.replace("dot-", "."): path for path in TEMPLATE.iterdir() if path.is_file()}
    files |= {name: project_files() / name for name in OWN}
    try:
        for name in FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, source in files.items():
            shutil.copyfile(source, folder / name)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror} ({error.filename})") from error
    return sorted(files)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m autograder init",
        description=f"Create a course: a folder with {MARK}, for assignments of your own.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new or an empty folder outside of other courses")
    folder = parser.parse_args(arguments).folder
    names = write(folder)
    print(f"Created a course in {folder}: {', '.join(names)}. Next:\n")
    print(f"  cd {folder}")
    print("  python -m autograder new NAME      # a small working assignment to edit")
    print("  python -m autograder --help        # all commands; they work in this folder and below it\n")
    print(f"{MARK} is for deadlines, weights, roster and groups. It is short and explains its entries.")
    print(f"The guides (docs/...) are in {project_files() / 'docs'}.")
    return 0
