"""Find the submissions of a class: folders, zip files, or one download with all of them. Nothing is extracted."""

import hashlib
import os
import re
import stat
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

from autograder.manifest import Assignment
from autograder.submissions.loose_files import ARCHIVES, OTHER_ARCHIVES, Loose, by_student
from autograder.submissions.read_submission import Submission, nothing_readable, read_tree, read_zip
from autograder.submissions.untrusted_files import (
    DAMAGED,
    MAX_CLASS_MEMBERS,
    MAX_MEMBERS,
    UNINTERESTING,
    Archive,
    Folder,
    Member,
    Tree,
    Unreadable,
    members,
    open_zip,
    printable,
)
from course.errors import UserError

NO_ZIP = "is not read: hand in the files, or a zip file"
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")  # names that Windows keeps for devices


@dataclass(frozen=True, slots=True)
class Found:
    """A submission that was found and not yet read."""

    student: str  # as the folder or the zip file is called
    path: Path
    assignment: Assignment
    inside: str = ""  # folder or zip file in a download of the whole class
    loose: tuple[str, ...] = ()  # files among those of the others, in a folder or a download of the whole class
    safe_name: str = ""  # for file names: ASCII letters, digits, ".", "_" and "-", different for each student

    def read(self) -> Submission:
        """Read the modules. Whatever is wrong with the files is said in the submission."""
        try:
            if self.inside:
                return self._read_inside(_open_download(self.path, os.getpid()))
            if self.loose:
                return read_tree(self.student, Loose.of(self._around(), self.loose), self.assignment)
            mode = self.path.lstat().st_mode
            if stat.S_ISREG(mode) and self.path.name.lower().endswith(OTHER_ARCHIVES):
                return nothing_readable(self.student, f"{printable(self.path.name)} {NO_ZIP}", self.assignment)
            if stat.S_ISREG(mode):
                return read_zip(self.student, self.path, self.assignment)
            if stat.S_ISDIR(mode):
                return read_tree(self.student, Folder(self.path), self.assignment)
            why = "is a symbolic link, which is not followed" if stat.S_ISLNK(mode) else "is not an ordinary file"
        except DAMAGED as error:
            why = f"cannot be read: {printable(str(error))}"
        return nothing_readable(self.student, f"{printable(self.path.name)} {why}", self.assignment)

    def _around(self) -> Tree:
        """What the loose files lie in."""
        if self.path.is_dir():
            return Folder(self.path)
        download, wanted = _open_download(self.path, os.getpid()), set(self.loose)
        return Archive(download.archive, [member for member in download.members if member.path in wanted], 1)

    def _read_inside(self, download: "Download") -> Submission:
        parts = tuple(self.inside.split("/"))
        own = download.members_of(parts)
        if [member.parts for member in own] == [parts]:  # a zip file, not a folder
            if parts[-1].lower().endswith(OTHER_ARCHIVES):
                return nothing_readable(self.student, f"{printable(parts[-1])} {NO_ZIP}", self.assignment)
            try:
                tree = open_zip(Archive(download.archive, own, 1), self.inside)
            except Unreadable as error:
                return nothing_readable(self.student, f"{printable(parts[-1])} {error}", self.assignment)
            return read_tree(self.student, tree, self.assignment)
        tree = Archive(download.archive, [member.below(parts) for member in own], 1)
        return read_tree(self.student, tree, self.assignment)


class Download:
    """A zip file with the submissions of a class."""

    def __init__(self, path: Path) -> None:
        self.archive = zipfile.ZipFile(path)
        if (count := len(self.archive.infolist())) > MAX_CLASS_MEMBERS:
            raise UserError(f"{path} holds {count:,} files, more than {MAX_CLASS_MEMBERS:,}: split it")
        self.members = list(members(self.archive))
        self._by_student: dict[tuple[str, ...], list[Member]] | None = None

    def members_of(self, parts: tuple[str, ...]) -> list[Member]:
        """The files of one student."""
        if self._by_student is None:
            by_student = defaultdict(list)
            for member in self.members:
                by_student[member.parts[: len(parts)]].append(member)
            self._by_student = dict(by_student)
        return self._by_student[parts]


@lru_cache(maxsize=1)
def _open_download(path: Path, process: int) -> Download:
    """The download, opened once in each process: forks must not share the position in a file."""
    return Download(path)


def find_submissions(path: Path, assignment: Assignment) -> list[Found]:
    """The submissions below a path, by the names of students.

    Args:
        path: a folder with a folder or a zip file for each student, such as nbgrader's `submitted`; a download of the
            class, which is one zip file with a folder or a zip file for each student; or what one student handed in.

    Raises:
        UserError: if there is nothing to grade.
    """
    if path.is_dir():
        found = _in_folder(path, assignment)
    elif path.is_file() and path.suffix.lower() == ".zip":
        found = _in_zip(path, assignment)
    else:
        raise UserError(f"there is no folder or zip file {path}")
    if not found:
        raise UserError(f"{path} holds no submissions: a folder or a zip file for each student is expected")
    return _with_safe_names(found)


def _in_folder(path: Path, assignment: Assignment) -> list[Found]:
    modules = [f"{module}.py" for module in assignment.modules]
    if any((path / name).is_file() for name in modules):
        return [Found(printable(path.resolve().name), path, assignment)]
    found: dict[str, Found] = {}
    try:
        with os.scandir(path) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    names = [entry.name for entry in listed if entry.is_file(follow_symlinks=False) and not entry.name.startswith(".")]
    gathered = _loose(names, path, assignment, found)
    for entry in listed:
        is_folder, is_file = entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)
        is_archive = entry.name.lower().endswith(ARCHIVES) and not is_folder
        if entry.name.startswith(".") or entry.name in UNINTERESTING or (is_file and not is_archive):
            continue
        if entry.name not in gathered:
            name = _stem(entry.name) if is_archive else entry.name
            _add(found, Found(printable(name), path / entry.name, assignment))
    # A folder with the name of the assignment is what one student handed in, or the folder of a student of that name.
    if any((path / assignment.name / name).is_file() for name in modules) and not any(
        _holds_modules(one.path, modules) for student, one in found.items() if student != assignment.name
    ):
        return [Found(printable(path.resolve().name), path, assignment)]
    return list(found.values())


def _holds_modules(path: Path, modules: list[str]) -> bool:
    """Whether something looks like what a student has handed in: an archive, or a folder with modules."""
    if path.name.lower().endswith(ARCHIVES) or path.is_symlink():
        return True
    try:
        folders = [path, *islice((entry for entry in path.iterdir() if entry.is_dir()), MAX_MEMBERS)]
        return any((folder / name).is_file() for folder in folders for name in modules)
    except OSError:
        return True


def _loose(paths: Iterable[str], path: Path, assignment: Assignment, found: dict[str, Found]) -> set[str]:
    """Add the students whose files lie loose beside those of the others; the paths of these files."""
    gathered: set[str] = set()
    for student, own in by_student(paths, assignment.modules).items():
        _add(found, Found(printable(student), path, assignment, loose=tuple(own)))
        gathered.update(own)
    return gathered


def _stem(name: str) -> str:
    """The name of an archive without its ending: of anna.tar.gz, anna."""
    while name.lower().endswith(ARCHIVES):
        name = name.rpartition(".")[0]
    return name


def _add(found: dict[str, Found], one: Found) -> None:
    """Add a submission under the student's name; a folder and a zip file of the same name are told apart."""
    student, number = one.student, 1
    while student in found:
        number += 1
        student = f"{one.student} ({number})"
    found[student] = replace(one, student=student)


def _in_zip(path: Path, assignment: Assignment) -> list[Found]:
    student = printable(path.stem)
    try:
        download = _open_download(path, os.getpid())
    except DAMAGED as error:
        raise UserError(f"{path} is not a zip file or is damaged ({error})") from error
    modules = {f"{module}.py" for module in assignment.modules}
    files = [member.parts for member in download.members if not member.refused and not member.uninteresting]
    roots = {parts[:-1] for parts in files if parts[-1] in modules}
    zips = {parts for parts in files if parts[-1].lower().endswith(ARCHIVES)}
    found: dict[str, Found] = {}
    if not roots and (gathered := _loose(map("/".join, files), path, assignment, found)):
        for parts in sorted(zips):
            if "/".join(parts) not in gathered:
                _add(found, Found(printable(_stem(parts[-1])), path, assignment, "/".join(parts)))
        return list(found.values())
    top = _common([*roots, *(parts[:-1] for parts in zips)])
    # Modules at the top, or in one place only, are those of one student.
    alone = all(parts[:1] == (assignment.name,) for parts in (*roots, *zips))
    if top in roots or ((assignment.name,) in roots and alone) or (not zips and len(roots) <= 1):
        return [Found(student, path, assignment)]
    depth = len(top) + 1
    below = {parts[:depth]: len(parts) == depth for parts in files if parts[: len(top)] == top}
    for parts, is_file in sorted(below.items()):
        if not is_file or parts in zips:
            name = _stem(parts[-1]) if is_file else parts[-1]
            _add(found, Found(printable(name), path, assignment, "/".join(parts)))
    return list(found.values())


def _common(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The folder in which all of these lie."""
    common: list[str] = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return tuple(common)


def _with_safe_names(found: Iterable[Found]) -> list[Found]:
    """Give each a name for files. It depends on the student's name only, unless two would be the same."""
    found = list(found)
    clean = [re.sub(r"[^A-Za-z0-9._-]+", "_", one.student)[:60].strip(".-_ ") for one in found]
    used = Counter(name.lower() for name in clean)
    named = []
    for one, name in zip(found, clean, strict=True):
        # A name that looks like one with a hash gets a hash too, so that nobody can take the name of another.
        odd = name != one.student or RESERVED.match(name) or re.search("-[0-9a-f]{12}$", name)
        if odd or used[name.lower()] > 1:
            name = f"{name or 'student'}-{hashlib.sha256(one.student.encode()).hexdigest()[:12]}"
            name = f"_{name}" if RESERVED.match(name) else name
        named.append(replace(one, safe_name=name))
    return named
