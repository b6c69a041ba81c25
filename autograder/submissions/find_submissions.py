"""Find the submissions of a class: folders, zip files, or one download with all of them. Nothing is extracted.

Every file in a download is accounted for. A file belongs to a student if its path names the student. Files that
operating systems or tools create automatically are recognised by their names and ignored. All other files are reported
as unclaimed. The student's key comes from the platform's naming pattern (loose_files.py), or else from the name of the
folder or archive.
"""

import hashlib
import os
import re
import stat
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

from autograder.manifest import Assignment
from autograder.submissions.loose_files import (
    ARCHIVES,
    MAX_NAMED,
    MOODLE,
    OTHER_ARCHIVES,
    Joined,
    Upload,
    is_module,
    uploads,
)
from autograder.submissions.read_submission import Submission, nothing_readable, read_tree
from autograder.submissions.untrusted_files import (
    DAMAGED,
    HIDDEN,
    MAX_ARCHIVE,
    MAX_CLASS_MEMBERS,
    TOO_DEEP,
    Archive,
    Folder,
    Listing,
    Member,
    Tree,
    Unreadable,
    added,
    in_names,
    members,
    name_of,
    open_zip,
    printable,
    read_regular,
)
from course.errors import UserError

NO_ZIP = "is not read: hand in the files, or a zip file"
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")  # device names reserved by Windows
NOBODYS = "belongs to no student: neither a folder nor an archive, and not named by Canvas or Moodle"
STRAY = "a module next to the students' submissions: nobody knows whose it is"
OF_COURSE = ("notebooks", "autograder", "course", "solutions")  # folders in a copy of the course; notebooks/NAME counts
COLLECTED = "-submissions"  # a folder of clones: NAME-alice in NAME-submissions


@dataclass(frozen=True, slots=True)
class Found:
    """A submission that has been found but not yet read."""

    student: str  # name of the folder or archive; name_number if a platform named it
    path: Path
    assignment: Assignment
    inside: str = ""  # folder or archive in a download of the whole class
    loose: tuple[tuple[str, Upload], ...] = ()  # the student's files, with their parsed names
    safe_name: str = ""  # for file names: ASCII letters, digits, ".", "_" and "-", unique for each student
    entry: str = ""  # the path within the input, for messages

    def read(self, keep: Collection[str] = ()) -> Submission:
        """Read the modules, and keep other files (`read_tree`). Any problems are recorded in the submission."""
        called = printable((self.inside or self.path.name).rpartition("/")[2])
        try:
            tree = self.tree()
            submission = read_tree(self.student, tree, self.assignment, keep)
            where = tree.where if isinstance(tree, Joined) else {}
            within = f"{self.entry}/" if self.entry else ""
            return replace(submission, left=tuple((within + _place(where, path), why) for path, why in submission.left))
        except Unreadable as error:
            why = str(error)
        except DAMAGED as error:
            why = f"cannot be read: {printable(str(error))}"
        return replace(
            nothing_readable(self.student, f"{called} {why}", self.assignment), left=((self.entry or called, why),)
        )

    def tree(self) -> Tree:
        """Return everything that the student handed in.

        Raises:
            Unreadable: if it is neither a folder nor a readable archive.
        """
        if not self.loose:
            return _open(self.path, self.inside)
        opened = {}
        for path, upload in self.loose:
            file = _file(self.path, path)
            opened[path] = upload, file or _open(self.path, path), file is not None
        return Joined(opened)


def _place(where: dict[str, str], path: str) -> str:
    """Map a path to its location in the download, which may be inside an archive."""
    at = path
    while at not in where and "/" in at:
        at = at.rpartition("/")[0]
    return where.get(at, at) + path[len(at) :]


@dataclass(frozen=True)
class OneFile:
    """A student's file in a folder that also contains other students' files."""

    folder: Path
    name: str
    nesting: int = 0

    def listing(self) -> Listing:
        return Listing({self.name: ""})

    def read(self, path: str, limit: int) -> bytes:
        return read_regular(self.folder / path, limit)


def _file(path: Path, part: str) -> Tree | None:
    """Return a loose file in a folder or a class download, or None if it is not a file."""
    if path.is_dir():
        return None if (path / part).is_dir() else OneFile(path, part)
    download = _open_download(path, os.getpid())
    parts = download.members_of(part)
    return Archive(download.archive, parts, 0) if {member.path for member in parts} == {part} else None


def _open(path: Path, part: str) -> Tree:
    """Open a folder or an archive, on disk or inside a class download."""
    if path.is_file() and part:
        download = _open_download(path, os.getpid())
        parts = download.members_of(part)
        if {member.path for member in parts} != {part}:
            return Archive(download.archive, [member.below(tuple(part.split("/"))) for member in parts], 0)
        if part.lower().endswith(OTHER_ARCHIVES):
            raise Unreadable(NO_ZIP)
        file = Archive(download.archive, parts, 0)  # the class's own zip replaces a folder
        if why := file.listing().files.get(part, "its name is ignored"):
            raise Unreadable(why)
        return open_zip(file, part)
    mode = (path / part).lstat().st_mode
    if stat.S_ISLNK(mode):
        raise Unreadable("is a symbolic link, which is not followed")
    if stat.S_ISDIR(mode):
        return Folder(path / part)
    if not stat.S_ISREG(mode):
        raise Unreadable("is not an ordinary file")
    if path.name.lower().endswith(OTHER_ARCHIVES):
        raise Unreadable(NO_ZIP)
    return Archive.of_bytes(read_regular(path / part, MAX_ARCHIVE))


class Download:
    """A zip file with the submissions of a class."""

    def __init__(self, path: Path) -> None:
        self.archive = zipfile.ZipFile(path)
        if (count := len(self.archive.infolist())) > MAX_CLASS_MEMBERS:
            raise UserError(f"{path} contains {count:,} files, more than {MAX_CLASS_MEMBERS:,}: split it")
        self.members = list(members(self.archive))
        self.below: defaultdict[str, dict[str, list[Member]]] = defaultdict(dict)  # folder -> name -> members
        for member in self.members:
            if member.refused in ("", TOO_DEEP):
                self._index(member.path, [member])
        for info in self.archive.infolist():
            *folder, rest = name_of(info).replace("\\", "/").split("/")
            parts = [part for part in folder if part != "."]
            if (
                not rest and not {"", ".."} & {*parts} and all(map(in_names, "".join(parts)))
            ):  # a folder, which may be empty
                self._index("/".join(parts), [])

    def _index(self, path: str, held: list[Member]) -> None:
        while path:
            folder, _, name = path.rpartition("/")
            self.below[folder].setdefault(name, []).extend(held)
            path = folder

    def members_of(self, path: str) -> list[Member]:
        """Return the member at a path, or all members below it."""
        folder, _, name = path.rpartition("/")
        return self.below[folder][name]


@lru_cache(maxsize=1)
def _open_download(path: Path, process: int) -> Download:
    """Open the download once in each process, since forks must not share a file position."""
    return Download(path)


class Place(Protocol):
    """A folder, on disk or in a download, that may contain submissions."""

    entry: str  # its path within the input, ending in a slash; "" at the top
    folders: list[str]
    files: list[str]
    others: list[str]  # links, pipes and the like

    def below(self, folder: str) -> "Place":
        """Return a subfolder."""

    def held(self, folder: str) -> Iterable[str]:
        """Yield the paths of all files in a folder."""

    def found(self, name: str) -> Found:
        """Return the submission in the folder or archive with this name; an empty name means the whole folder."""

    def loose(self, names: Iterable[tuple[str, Upload]]) -> Found:
        """Return the submission that consists of these files and folders."""


class OnDisk:
    """A folder on disk."""

    def __init__(self, path: Path, assignment: Assignment, entry: str = "") -> None:
        self.path, self.assignment, self.entry = path, assignment, entry
        try:
            with os.scandir(path) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error
        self.folders = [entry.name for entry in listed if entry.is_dir(follow_symlinks=False)]
        self.files = [entry.name for entry in listed if entry.is_file(follow_symlinks=False)]
        known = {*self.folders, *self.files}
        self.others = [entry.name for entry in listed if entry.name not in known]

    def below(self, folder: str) -> "OnDisk":
        return OnDisk(self.path / folder, self.assignment, f"{self.entry}{folder}/")

    def held(self, folder: str) -> Iterable[str]:
        return Folder(self.path / folder).listing().files

    def found(self, name: str) -> Found:
        return Found(name, self.path / name, self.assignment, entry=(self.entry + name).rstrip("/"))

    def loose(self, names: Iterable[tuple[str, Upload]]) -> Found:
        return Found("", self.path, self.assignment, loose=tuple(names), entry=self.entry.rstrip("/"))


class InZip:
    """A folder inside a class download."""

    def __init__(self, path: Path, download: Download, assignment: Assignment, entry: str = "") -> None:
        self.path, self.download, self.assignment, self.entry = path, download, assignment, entry
        self.others: list[str] = []
        here = download.below[entry.rstrip("/")]
        self.files = sorted(name for name, held in here.items() if {member.path for member in held} == {entry + name})
        self.folders = sorted(here.keys() - set(self.files))

    def below(self, folder: str) -> "InZip":
        return InZip(self.path, self.download, self.assignment, f"{self.entry}{folder}/")

    def held(self, folder: str) -> Iterable[str]:
        start = len(self.entry + folder) + 1
        return (
            member.path[start:] for member in self.download.members_of(self.entry + folder) if not member.ignored[0]
        )

    def found(self, name: str) -> Found:
        inside = (self.entry + name).rstrip("/")
        return Found(name, self.path, self.assignment, inside, entry=inside)

    def loose(self, names: Iterable[tuple[str, Upload]]) -> Found:
        return Found("", self.path, self.assignment, loose=tuple((self.entry + name, upload) for name, upload in names))


@dataclass
class Intake:
    """The submissions in a download, and its other files. Each submission reports its own files."""

    found: list[Found] = field(default_factory=list)
    ignored: dict[str, str] = field(default_factory=dict)  # path -> which system adds it
    unclaimed: dict[str, str] = field(default_factory=dict)  # path -> why it belongs to nobody


def find_submissions(path: Path, assignment: Assignment) -> list[Found]:
    """Return the submissions below a path, named after their students; see `take_in`."""
    return take_in(path, [assignment]).found


def take_in(path: Path, chosen: Sequence[Assignment]) -> Intake:
    """Find the submissions below a path, named after their students, and all files that belong to no student.

    Args:
        path: a folder with a folder or a zip file for each student, such as nbgrader's `submitted`; a class download,
            which is one zip file with a folder or a zip file for each student; or one student's submission.
        chosen: the assignment, or all candidates.

    Raises:
        UserError: if there is nothing to grade.
    """
    if path.is_dir():
        intake = _sorted_out(OnDisk(path, chosen[0]), path.resolve().name, chosen)
    elif path.is_file() and path.suffix.lower() == ".zip":
        intake = _sorted_out(_in_zip(path, chosen[0]), path.stem, chosen)
    else:
        raise UserError(f"there is no folder or zip file {path}")
    if not intake.found:
        nobodys = f"; {names_of(intake.unclaimed)} belong to nobody" if intake.unclaimed else ""
        raise UserError(f"{path} contains no submissions: a folder or a zip file for each student is expected{nobodys}")
    intake.found = _with_safe_names(intake.found)
    return intake


def names_of(paths: Collection[str]) -> str:
    """Return the number of files and the first few names as a string."""
    shown = ", ".join(printable(path) for path in [*paths][:MAX_NAMED])
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return f"{len(paths)} {'file' if len(paths) == 1 else 'files'} ({shown}{more})"


def _in_zip(path: Path, assignment: Assignment) -> InZip:
    try:
        return InZip(path, _open_download(path, os.getpid()), assignment)
    except DAMAGED as error:
        raise UserError(f"{path} is not a zip file or is damaged ({error})") from error


class Survey:
    """Analyse a folder: which entries look like submissions, and whether the whole folder belongs to one student."""

    def __init__(self, place: Place, chosen: Sequence[Assignment]) -> None:
        self.place, self.chosen = place, chosen
        self.modules = {module for candidate in chosen for module in candidate.modules}
        self.module_files = {f"{module}.py" for module in self.modules}
        self.ignored = {name: why for name in (*place.folders, *place.files, *place.others) if (why := added(name))}
        folders, files, others = (
            [name for name in names if name not in self.ignored] for names in (place.folders, place.files, place.others)
        )
        self.hidden = [name for name in (*folders, *files, *others) if name.startswith(".")]
        not_hidden = [[name for name in names if not name.startswith(".")] for names in (folders, files, others)]
        self.uploads = uploads(name for name in not_hidden[1])
        if not any(self._is_wanted(upload.name) for upload in self.uploads.values()):
            self.uploads = {}  # the names resemble Canvas names only by coincidence
        self.uploads |= uploads(name for name in not_hidden[0] if MOODLE.fullmatch(name))
        self.folders, self.files, self.others = (
            [name for name in names if name not in self.uploads] for names in not_hidden
        )
        self.archives = [name for name in self.files if name.lower().endswith(ARCHIVES)]
        self.stray = [name for name in self.files if name in self.module_files]

    def _is_wanted(self, path: str) -> bool:
        return is_module(path.rpartition("/")[2], self.modules) or path.lower().endswith(ARCHIVES)

    @cached_property
    def own_folders(self) -> list[str]:
        """Folders in which a student may keep the modules: NAME, or the folders of a copy of the course."""
        folders = []
        for folder in {candidate.name for candidate in self.chosen} & set(self.folders):
            folders += [folder] if not self.module_files.isdisjoint(self.place.held(folder)) else []
        if OF_COURSE[0] in self.folders:
            places = {f"{candidate.name}/{module}.py" for candidate in self.chosen for module in candidate.modules}
            folders += OF_COURSE if not places.isdisjoint(self.place.held(OF_COURSE[0])) else ()
        return folders

    @cached_property
    def likely(self) -> int:
        """The number of entries that look like students' submissions, not counting loose modules."""
        folders = (name for name in self.folders if name not in self.own_folders)
        with_work = [folder for folder in folders if any(map(self._is_wanted, self.place.held(folder)))]
        students = {folder.student for folder in self.uploads.values()}
        return len(students) + len(self.archives) + len(self.others) + len(with_work)

    @property
    def of_one(self) -> bool:
        """Whether the folder belongs to one student, that is, has modules but no entry that looks like a submission."""
        endings = tuple(f"_{name}" for name in self.module_files)
        several = {name.rpartition("_")[0] for name in self.files if name.endswith(endings)}  # anna_pe.py, ben_pe.py
        return bool(self.stray or self.own_folders) and not self.likely and len(several) < 2

    @cached_property
    def around(self) -> "Survey | None":
        """The survey of the class in the only folder or zip file here, or None if there is no class."""
        names = [*self.folders, *self.archives, *self.others, *self.uploads]
        if len(names) != 1 or self.uploads or self.others or self.stray or self.own_folders:
            return None
        try:
            if self.folders:
                inner = Survey(self.place.below(names[0]), self.chosen)
            elif isinstance(self.place, OnDisk) and names[0].lower().endswith(".zip"):
                inner = Survey(_in_zip(self.place.path / names[0], self.place.assignment), self.chosen)
                if inner.stray:
                    return None
            else:
                return None
        except UserError:  # reported when the submission is read
            return None
        return inner if inner.uploads or inner.likely > 1 else inner.around


def _sorted_out(place: Place, name: str, chosen: Sequence[Assignment]) -> Intake:
    """Assign every entry of a folder to a student, or mark it as ignored or unclaimed."""
    here = Survey(place, chosen)
    intake = Intake()
    if isinstance(place, InZip):
        # A zip file with a single folder that is not a class, or without readable files, belongs to one student.
        single = len(here.folders) == 1 and not (here.files or here.uploads or here.around)
        alone = here.of_one or single or not (place.folders or place.files)
    else:
        alone = here.of_one
    if alone:
        intake.found = [_called(place.found(""), name)]
        return intake
    while here.around is not None:
        _leave(here, intake, [file for file in here.files if file not in here.archives])
        here = here.around
    if isinstance(here.place, InZip):
        everything = here.place.download.members
        intake.unclaimed |= {
            member.path: member.refused for member in everything if member.refused not in ("", TOO_DEEP)
        }
    students: dict[str, Found] = {}
    by_student: dict[str, list[tuple[str, Upload]]] = defaultdict(list)
    for path, upload in here.uploads.items():
        by_student[upload.student].append((path, upload))
    for student, files in by_student.items():
        _add(students, _called(here.place.loose(files), student))
    entries = {name: _stem(name) for name in (*here.archives, *here.others)} | {name: name for name in here.folders}
    names = _without_repository(list(entries.values()), name, chosen)
    for (entry, _), student in sorted(zip(entries.items(), names, strict=True)):
        _add(students, _called(here.place.found(entry), student))
    _leave(here, intake, [file for file in here.files if file not in here.archives])
    intake.found = list(students.values())
    return intake


def _leave(here: Survey, intake: Intake, files: Iterable[str]) -> None:
    """Record the unclaimed files and the ignored files in a folder."""
    entry = here.place.entry
    folders = {*here.place.folders}
    intake.ignored |= {f"{entry}{name}{'/' * (name in folders)}": why for name, why in here.ignored.items()}
    intake.unclaimed |= {f"{entry}{name}{'/' * (name in folders)}": HIDDEN for name in here.hidden}
    intake.unclaimed |= {entry + name: STRAY if name in here.stray else NOBODYS for name in files}


def _without_repository(names: list[str], place: str, chosen: Sequence[Assignment]) -> list[str]:
    """Strip the common prefix NAME- from the names of collected repositories.

    NAME is the assignment's name, or CLASSROOM-NAME in Classroom 50. If the repositories are in a folder called
    NAME-submissions, NAME may be anything.
    """
    collected = [f"{place.removesuffix(COLLECTED)}-"] if place.endswith(COLLECTED) else []
    for assignment in chosen if names else ():
        classroom, found, _ = names[0].partition(f"-{assignment.name}-")
        collected += [f"{classroom}{found}"] if found else []
    for prefix in (*(f"{assignment.name}-" for assignment in chosen), *collected):
        if names and all(name.startswith(prefix) and name.removeprefix(prefix).strip(". ") for name in names):
            return [name.removeprefix(prefix) for name in names]
    return names


def _stem(name: str) -> str:
    """The name of an archive without its extensions: anna for anna.tar.gz."""
    while name.lower().endswith(ARCHIVES):
        name = name.rpartition(".")[0]
    return name


def _called(found: Found, student: str) -> Found:
    """Return a submission, named after its student.

    The name is normalised, since macOS decomposes umlauts and gradebooks do not.
    """
    return replace(found, student=printable(unicodedata.normalize("NFC", student)))


def _add(found: dict[str, Found], submission: Found) -> None:
    """Add a submission under the student's name; if the name is already taken, a number is appended to it."""
    student, number = submission.student, 1
    while student in found:
        number += 1
        student = f"{submission.student} ({number})"
    found[student] = replace(submission, student=student)


def _with_safe_names(found: Iterable[Found]) -> list[Found]:
    """Give each submission a safe file name. It depends only on the student's name, unless two names collide."""
    found = list(found)
    clean = [re.sub(r"[^A-Za-z0-9._-]+", "_", submission.student)[:60].strip(".-_ ") for submission in found]
    used = Counter(name.lower() for name in clean)
    named = []
    for submission, name in zip(found, clean, strict=True):
        # A name that looks hashed gets a hash too, so that nobody can take another student's file name.
        odd = name != submission.student or RESERVED.match(name) or re.search("-[0-9a-f]{12}$", name)
        if odd or used[name.lower()] > 1:
            name = f"{name or 'student'}-{hashlib.sha256(submission.student.encode()).hexdigest()[:12]}"
            name = f"_{name}" if RESERVED.match(name) else name
        named.append(replace(submission, safe_name=name))
    return named
