"""Collect files from the engine and the course, and write zip files whose bytes depend only on their content."""

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from course.errors import UserError
from course.location import ENGINE, course_folder, project_files

BINARY = (".safetensors", ".model", ".png", ".gz")
FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip file can store


def collect(root: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """Return the files below a folder that match one of the patterns, keyed by path (with slashes).

    Lines of text end with "\\n" on every system, as the shell in a container requires.

    Raises:
        UserError: if a pattern matches no file.
    """
    files: dict[str, bytes] = {}
    for pattern in patterns:
        paths = [path for path in root.glob(pattern) if path.is_file() and not _unwanted(path.relative_to(root))]
        if not paths:
            raise UserError(f"there is no {pattern} in {root}, which the archive needs")
        for path in paths:
            data = path.read_bytes()
            text = path.suffix not in BINARY
            files[path.relative_to(root).as_posix()] = data.replace(b"\r\n", b"\n") if text else data
    return files


def of_engine(patterns: Iterable[str]) -> dict[str, bytes]:
    """Return files from the packages `autograder` and `course`, wherever they are installed."""
    return collect(ENGINE, patterns)


def of_course(patterns: Iterable[str]) -> dict[str, bytes]:
    """Return files from the course."""
    return collect(course_folder(), patterns)


def of_project(names: Iterable[str]) -> dict[str, bytes]:
    """Return files such as grade.py and constraints.txt, from the course if they are there, or else from the engine."""
    files: dict[str, bytes] = {}
    for name in names:
        files |= collect(course_folder() if (course_folder() / name).is_file() else project_files(), [name])
    return files


def _unwanted(path: Path) -> bool:
    """Whether a file was left behind by tools: compiled modules, notebook checkpoints, backups."""
    return any(part == "__pycache__" or part.startswith(".") or part.endswith("~") for part in path.parts)


def check_target(path: Path) -> None:
    """Before any work begins, check that the path is the name of a zip file.

    Raises:
        UserError: if it is not.
    """
    if path.suffix.lower() != ".zip" or path.is_dir():
        raise UserError(f"{path} is not the name of a zip file")


def write_zip(
    path: Path,
    files: Mapping[str, bytes],
    modes: Mapping[str, int] | None = None,
    date: tuple[int, int, int, int, int, int] = FIRST_DATE,
    comment: bytes = b"",
) -> None:
    """Write a zip file completely or not at all; its folder is created if needed.

    Nothing is compressed: compressed bytes differ between versions of zlib, and weights hardly shrink.

    Args:
        modes: permissions of files, if they are not the usual ones.
        date: the date of all files, as seen after unpacking.
        comment: the comment of the archive itself.

    Raises:
        UserError: if it cannot be written.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(partial, "w") as archive:
            archive.comment = comment
            for name in sorted(files):
                info = zipfile.ZipInfo(name, date)
                info.create_system = 3  # Unix on every system, so that the permissions are used
                info.external_attr = (0o100000 | (modes or {}).get(name, 0o644)) << 16
                archive.writestr(info, files[name])
        partial.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
