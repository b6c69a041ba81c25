"""Collect a class download for `nbgrader zip_collect`: whose is a file, and which of a student's files count?"""

import atexit
import contextlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from nbgrader.plugins import FileNameCollectorPlugin

from autograder.authoring.release import notebook_names
from autograder.manifest import Assignment, assignment, assignments
from autograder.submissions.find_submissions import OF_COURSE
from autograder.submissions.loose_files import ARCHIVES, without_number
from autograder.submissions.untrusted_files import added, printable

UNPACKED = [".zip", ".ZIP", ".gz"]  # by nbgrader, into a folder with the archive's name
ENDING = re.compile(r"(\.tar)?\.(zip|ZIP|gz)$")
MOODLE = "_assignsubmission_"  # of "Frank Oz_11_assignsubmission_file_", the student is "Frank Oz_11"
NOTEBOOKS, ENGINE, *_ = OF_COURSE
NOBODYS = "neither a folder nor a zip file of a student"


class Download:
    """A download that nbgrader has extracted: the files to collect, and the submissions that have none.

    The entries of its folder are the students', or there is a folder around them. Which it is depends on where the
    assignment's files are.
    """

    def __init__(self, folder: Path, known: Assignment) -> None:
        self.folder, self.known = folder, known
        self.modules = {f"{module}.py" for module in known.modules}
        self.collected: dict[Path, dict[str, str]] = {}  # file -> what nbgrader needs to know
        self.missed: dict[str, str] = {}  # student, or file -> why nothing is collected
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not self._ignored(path))
        self.unpacked = {path.with_name(ENDING.sub("", path.name)) for path in files if ENDING.search(path.name)}
        wanted = self.modules | notebook_names(known)
        self.work = {path for path in files if without_number(path.name)[0] in wanted}
        self.below: dict[Path, set[Path]] = defaultdict(set)  # folder -> its entries that are or contain work
        for path in self.work:
            while path != folder:
                self.below[path.parent].add(path)
                path = path.parent
        places: dict[str, list[Path]] = defaultdict(list)
        for place in self._students(folder, first=True):
            places[place.name.partition(MOODLE)[0] or place.name].append(place)
        for student, folders in places.items():
            self._collect(student, [place for place in folders if self._folders(place)])

    def _ignored(self, path: Path) -> bool:
        return any(added(name) or name.startswith(".") for name in path.relative_to(self.folder).parts)

    def _name(self, path: Path) -> str:
        return printable(path.relative_to(self.folder).as_posix())

    def _students(self, place: Path, first: bool = False) -> list[Path]:
        """Return the students' folders in a folder; loose files belong to nobody."""
        entries = sorted(path for path in place.iterdir() if not self._ignored(path))
        folders, found = [path for path in entries if path.is_dir()], []
        for folder in folders:
            if self._is_class(folder, first, alone=len(folders) == 1):
                found += self._students(folder)
            elif folder.name in assignments() and self._holds_work(folder):
                self.missed[folder.name] = "the folder is named after an assignment, not after a student"
            else:
                found.append(folder)
        for path in entries:
            opened = path.with_name(ENDING.sub("", path.name)) in folders
            if path not in folders and path.suffix.lower() in (".py", ".ipynb", *ARCHIVES) and not opened:
                self.missed[self._name(path)] = NOBODYS
        return found

    def _is_class(self, folder: Path, first: bool, alone: bool) -> bool:
        """Whether a folder has students in it. The only folder of a download has, unless its files are a student's."""
        if MOODLE in folder.name:
            return False
        if any(MOODLE in path.name for path in folder.iterdir()):
            return True
        if self._holds_work(folder) or not (first or alone):
            return False
        return len(self.below[folder]) >= (1 if first and alone else 2)

    def _holds_work(self, folder: Path) -> bool:
        """Whether the files are where one student has them."""
        places = (folder, folder / self.known.name, folder / NOTEBOOKS / self.known.name)
        return any(self.below[place] & self.work for place in places)

    def _collect(self, student: str, places: list[Path]) -> None:
        if not places:
            self.missed[student] = f"none of the files of {self.known.name} is there"
            return
        if len(places) > 1:
            self.missed[student] = f"it is there several times ({', '.join(map(self._name, places))})"
            return
        folders = self._folders(*places)
        ranks = {folder: self._rank(folder, folders, places[0]) for folder in folders}
        best = [folder for folder in folders if ranks[folder] == max(ranks.values())]
        if len(best) > 1 and self.modules & {*folders[best[0]]}:
            self.missed[student] = f"there are modules in several folders ({', '.join(map(self._name, best))})"
            return
        chosen: dict[str, Path] = {}
        for folder in sorted(folders, key=ranks.__getitem__):  # nobody grades a notebook: it may be elsewhere
            chosen |= {name: path for name, path in folders[folder].items() if folder in best or path.suffix != ".py"}
        self.collected |= {path: {"student_id": student, "file_id": name} for name, path in chosen.items()}

    def _folders(self, place: Path) -> dict[Path, dict[str, Path]]:
        """Return a student's files by folder and name; of numbered names (`pe (1).py`) the latest counts."""
        folders: dict[Path, dict[str, Path]] = defaultdict(dict)
        for path in sorted(self._work_in(place), key=lambda path: (without_number(path.name)[1], path)):
            name, number = without_number(path.name)
            here = folders[path.parent]
            if ENGINE not in path.relative_to(place).parts and (not number or here.get(name) != path.with_name(name)):
                here[name] = path
        return {folder: files for folder, files in sorted(folders.items()) if files}

    def _work_in(self, place: Path) -> Iterator[Path]:
        for path in self.below[place]:
            yield from [path] if path in self.work else self._work_in(path)

    def _rank(self, folder: Path, folders: dict[Path, dict[str, Path]], place: Path) -> tuple[int, ...]:
        """Choose between folders as `batch` does, which opens no archive beside modules."""
        modules = {name: path for name, path in folders[folder].items() if name in self.modules}
        loose = self.unpacked.isdisjoint(step for step in (folder, *folder.parents) if place in step.parents)
        changed = any(lines(path) != lines(self.known.released / name) for name, path in modules.items())
        return bool(modules), loose, changed, folder.name == self.known.name, len(modules), folder == place


def lines(path: Path) -> list[bytes]:
    """Return the lines of a file; none if it cannot be read."""
    with contextlib.suppress(OSError):
        return path.read_bytes().splitlines()
    return []


class StudentFiles(FileNameCollectorPlugin):  # type: ignore[misc]
    """Tells nbgrader whose a file is. When the command ends, it names all whose files were not collected."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.known = assignment(self.parent.coursedir.assignment_id)
        atexit.register(self.name_missed)  # nbgrader logs each file that it copies, after the last call of a plugin

    @cached_property
    def download(self) -> Download:
        """The download, once it is extracted."""
        return Download(Path(self.parent._format_collect_path(self.parent.extracted_directory)), self.known)

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Return the student and the name of a file; None for a file that does not count."""
        return self.download.collected.get(Path(submitted_file))

    def name_missed(self) -> None:
        """Warn on stderr about everything in the download that has no folder in submitted/ now."""
        if "download" not in self.__dict__:
            return  # nbgrader has extracted nothing, and has said so
        course, missed = self.parent.coursedir, dict(self.download.missed)
        for student in sorted({given["student_id"] for given in self.download.collected.values()}):
            if not Path(course.format_path(course.submitted_directory, student, self.known.name)).is_dir():
                missed[student] = "not copied"
        if missed:
            count = f"{len(missed)} submission{'s' * (len(missed) > 1)}"
            report = f"\nWARNING: nbgrader zip_collect has not collected {count} in {self.download.folder}:\n"
            report += "".join(f"  {printable(name)}: {why}\n" for name, why in sorted(missed.items()))
            report += f"Put the files into {course.submitted_directory}/STUDENT/{self.known.name}."
            print(report, file=sys.stderr)
