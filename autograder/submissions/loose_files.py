"""Find out which student a downloaded file belongs to, from the file names that Canvas and Moodle assign.

Canvas (lib/content_zipper.rb): `name_STUDENT NUMBER_FILE NUMBER_file`. In the names of late files, `LATE_` precedes
the first number. `anon_code` replaces the name and number of anonymous students; `text.html` or `link.html` replaces
the file's number and name. The name is the student's sortable name (or the group's name) in lower case, without spaces
or punctuation. It may contain underscores and digits.
Moodle (mod/assign): `name_number_assignsubmission_file_` for a folder, followed by the file's name for a loose file. If
the student submitted text, `onlinetext` replaces `file`. A group's name comes before the student's.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from autograder.submissions.untrusted_files import Listing, Tree, printable

LATE = "_LATE_"  # in capitals, which no Canvas name contains
FILE = r"_(?:(?P<file>\d+)_(?P<name>.+)|(?P<page>(?:text|link)\.html))"
CANVAS = re.compile(rf"_(?:LATE_)?(?P<user>\d+){FILE}", re.DOTALL)
ANONYMOUS = re.compile(rf"(?:LATE_)?anon_(?!LATE_)(?P<user>[0-9A-Za-z]+){FILE}", re.DOTALL)
MOODLE = re.compile(r"(?P<student>.*?_\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<name>.*)", re.DOTALL)
# Names of resubmissions in Canvas (mha-1.py) and of repeated downloads in browsers: mha(1).py, mha (1).py.
NUMBERED = re.compile(r"(?P<name>.+?)(?:-(?P<canvas>\d{1,4})| ?\((?P<browser>\d{1,4})\))(?P<ending>\.\w+)")
OTHER_ARCHIVES = (".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz")
ARCHIVES = (".zip", *OTHER_ARCHIVES)
MAX_NAMED = 8
MAX_NUMBERS = 4  # in a name that was downloaded or handed in repeatedly
MAX_READINGS = 16  # of a name from Canvas; names of students have few numbers
AGAIN = "was handed in again: the later file counts"
TWICE = "was handed in twice, in two places under the same name"


def without_number(name: str) -> tuple[str, int]:
    """Strip resubmission and download numbers from a file name; return the name and the last number, or 0."""
    number = 0
    for _ in range(MAX_NUMBERS):
        if not (matched := NUMBERED.fullmatch(name)):
            break
        name, number = matched["name"] + matched["ending"], number or int(matched["canvas"] or matched["browser"])
    return name, number


def is_module(name: str, modules: Collection[str]) -> bool:
    """Whether a file is one of the modules, perhaps with a resubmission number in its name."""
    return without_number(name)[0] in {f"{module}.py" for module in modules}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file or folder named by a platform."""

    student: str  # name_number, or anon_code
    name: str  # the student's name for the file; for a Moodle folder, the path for its files
    user: str = ""  # the student's number or code in Canvas
    file: int = 0  # the file's number in Canvas

    @property
    def first(self) -> tuple[int, int]:
        """A sort key that is larger for later uploads of the same file."""
        return without_number(self.name)[1], self.file


def uploads(names: Iterable[str]) -> dict[str, Upload]:
    """Parse the file names that Canvas or Moodle assigned. All names of a class must be parsed together.

    In `group_1_101_9001_pe.py`, any two adjacent numbers could be the numbers that Canvas inserted. Three rules decide:
    file numbers are unique; file numbers are larger than student numbers in every Canvas installation; and a student
    confirmed by a different file is preferred. If these rules leave several readings, the last one is used.
    """
    parsed: dict[str, Upload] = {}
    possible: dict[str, list[Upload]] = {}
    for name in names:
        if moodle := MOODLE.fullmatch(name):
            kind = "" if moodle["kind"] == "file" else moodle["kind"]
            parsed[name] = Upload(unicodedata.normalize("NFC", moodle["student"]), moodle["name"] or kind)
        elif readings := _readings(name):
            possible[name] = readings
    if all(ANONYMOUS.fullmatch(name) for name in possible):
        possible = {name: readings[:1] for name, readings in possible.items()}
    times = Counter(
        file for readings in possible.values() for file in {upload.file for upload in readings if upload.file}
    )
    for fits in (
        lambda upload: times[upload.file] < 2,
        lambda upload: not upload.user.isdecimal() or int(upload.user) < upload.file,
    ):
        possible = {name: [*filter(fits, readings)] or readings for name, readings in possible.items()}
    owners = ({upload.student for upload in readings} for readings in possible.values())
    sure = set().union(*(students for students in owners if len(students) == 1))
    for name, readings in possible.items():
        parsed[name] = ([upload for upload in readings if upload.student in sure] or readings)[-1]
    return parsed


def _readings(name: str) -> list[Upload]:
    """Return the possible readings of a Canvas name; the reading as an anonymous name comes first."""
    readings: list[Upload] = []
    for place in (name.find(LATE),) if LATE in name[1:] else (at for at, char in enumerate(name) if char == "_"):
        if len(readings) == MAX_READINGS:
            break
        if place > 0 and (numbers := CANVAS.fullmatch(name, place)):
            student = unicodedata.normalize("NFC", f"{name[:place]}_{numbers['user']}")
            readings.append(
                Upload(student, numbers["name"] or numbers["page"], numbers["user"], int(numbers["file"] or 0))
            )
    if code := ANONYMOUS.fullmatch(name):
        student = f"anon_{code['user']}"
        readings.insert(0, Upload(student, code["name"] or code["page"], code["user"], int(code["file"] or 0)))
    return readings


class Joined:
    """A student's files from several folders of a download, as one tree with the file names that the student chose."""

    def __init__(self, parts: Mapping[str, tuple[Upload, Tree, bool]]) -> None:
        """If a file was handed in more than once, the latest version counts.

        Args:
            parts: path in the download -> parsed name, a tree, and whether the tree holds only the file at this path.
        """
        self.where: dict[str, str] = {}  # path here -> path in the download
        self.nesting = max(tree.nesting for _, tree, _ in parts.values())
        self._files: dict[str, tuple[Tree, str]] = {}
        self._listing = Listing()
        latest: dict[str, Upload] = {}
        for upload, _, is_file in parts.values():
            plain = without_number(upload.name)[0]
            if is_file and (plain not in latest or upload.first > latest[plain].first):
                latest[plain] = upload
        for path, (upload, tree, is_file) in sorted(parts.items()):
            if not is_file:
                self._add_folder(path, upload.name and f"{upload.name}/", tree)
            elif latest[without_number(upload.name)[0]] is upload:
                self._put(upload.name, path, tree, path, tree.listing().files.get(path, ""))
            else:
                self._leave(path, path, AGAIN)
                self._listing.for_student.append(f"{printable(upload.name)} {AGAIN}")
        self._listing.for_student.sort()

    def _put(self, name: str, place: str, tree: Tree, path: str, why: str) -> None:
        if name in self._files:
            self._leave(place, place, TWICE)
            why = TWICE
        self._files[name], self._listing.files[name] = (tree, path), why
        self.where.setdefault(name, place)

    def _leave(self, name: str, place: str, why: str) -> None:
        self._listing.left[name], self.where[name] = why, place

    def _add_folder(self, place: str, prefix: str, tree: Tree) -> None:
        listing = tree.listing()
        for path, why in listing.files.items():
            self._put(prefix + path, f"{place}/{path}", tree, path, why)
        for path, why in listing.left.items():
            self._leave(prefix + path, f"{place}/{path}", why)
        self._listing.notes += listing.notes

    def listing(self) -> Listing:
        return self._listing

    def read(self, path: str, limit: int) -> bytes:
        tree, inside = self._files[path]
        return tree.read(inside, limit)


def not_read(files: Iterable[str], used: Collection[str], modules: Collection[str]) -> tuple[str, ...]:
    """Return a note for the student about files that look like part of the submission but are not read."""

    def meant(path: str) -> bool:
        name = path.rpartition("/")[2].lower()
        return name.endswith((".py", *ARCHIVES)) or name.startswith(tuple(f"{module}." for module in modules))

    names = [printable(path) for path in files if path not in used and meant(path)]
    if not names:
        return ()
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return (f"not read: {', '.join(names[:MAX_NAMED])}{more}",)
