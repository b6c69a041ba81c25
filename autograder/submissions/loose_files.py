"""Whose a file of a download is: the names that Canvas and Moodle give, second uploads, other archives.

Canvas (lib/content_zipper.rb): `name_number of the student_number of the file_file`, with `LATE_` before the first
number where it was late, `anon_code` instead of name and number where students are anonymous, and `text.html` or
`link.html` instead of the file's number and name. The name is the sortable one in small letters without spaces and
signs (of a group, the group's), so it may hold underscores and digits.
Moodle (mod/assign): `name_number_assignsubmission_file_` for a folder, with the file's name behind it for a loose file;
what a student handed in as text is called `onlinetext` instead of `file`; a group's name stands before the student's.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from autograder.submissions.untrusted_files import Listing, Tree, printable

LATE = "_LATE_"  # in capitals, which no name of Canvas has
FILE = r"_(?:(?P<file>\d+)_(?P<name>.+)|(?P<page>(?:text|link)\.html))"
CANVAS = re.compile(rf"_(?:LATE_)?(?P<user>\d+){FILE}", re.DOTALL)
ANONYMOUS = re.compile(rf"(?:LATE_)?anon_(?!LATE_)(?P<user>[0-9A-Za-z]+){FILE}", re.DOTALL)
MOODLE = re.compile(r"(?P<student>.*?_\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<name>.*)", re.DOTALL)
# What Canvas makes of the name of a second upload (mha-1.py) and browsers of a second download: mha(1).py, mha (1).py.
NUMBERED = re.compile(r"(?P<name>.+?)(?:-(?P<canvas>\d{1,4})| ?\((?P<browser>\d{1,4})\))(?P<ending>\.\w+)")
OTHER_ARCHIVES = (".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz")
ARCHIVES = (".zip", *OTHER_ARCHIVES)
MAX_NAMED = 8
AGAIN = "was handed in again: the later file counts"
TWICE = "was handed in in two places under one name"


def without_number(name: str) -> tuple[str, int]:
    """The name of a file without the numbers of second uploads and downloads, and the last of them, or 0."""
    number = 0
    while found := NUMBERED.fullmatch(name):
        name, number = found["name"] + found["ending"], number or int(found["canvas"] or found["browser"])
    return name, number


def is_module(name: str, modules: Collection[str]) -> bool:
    """Whether a file is one of the modules, perhaps with a number."""
    return without_number(name)[0] in {f"{module}.py" for module in modules}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file or a folder with a name that a platform gave it."""

    student: str  # name_number, or anon_code
    name: str  # as the student called the file; of a folder of Moodle, where its files belong
    user: str = ""  # Canvas' number or code of the student
    file: int = 0  # Canvas' number of the file

    @property
    def first(self) -> tuple[int, int]:
        """What tells a later upload of a file from an earlier one."""
        return without_number(self.name)[1], self.file


def uploads(names: Iterable[str]) -> dict[str, Upload]:
    """Those of the names that Canvas or Moodle gave. The names of a class are read together.

    In `group_1_101_9001_pe.py` any two numbers beside each other could be those of Canvas. The numbers of files differ
    from each other, they are larger than those of students in every Canvas that is in use, and whose reading another
    file confirms is meant; else the last.
    """
    found: dict[str, Upload] = {}
    possible: dict[str, list[Upload]] = {}
    for name in names:
        if moodle := MOODLE.fullmatch(name):
            kind = "" if moodle["kind"] == "file" else moodle["kind"]
            found[name] = Upload(unicodedata.normalize("NFC", moodle["student"]), moodle["name"] or kind)
        elif readings := _readings(name):
            possible[name] = readings
    if all(ANONYMOUS.fullmatch(name) for name in possible):
        possible = {name: readings[:1] for name, readings in possible.items()}
    times = Counter(file for readings in possible.values() for file in {one.file for one in readings if one.file})
    for fits in (lambda one: times[one.file] < 2, lambda one: not one.user.isdecimal() or int(one.user) < one.file):
        possible = {name: [*filter(fits, readings)] or readings for name, readings in possible.items()}
    owners = ({one.student for one in readings} for readings in possible.values())
    sure = set().union(*(students for students in owners if len(students) == 1))
    for name, readings in possible.items():
        found[name] = ([one for one in readings if one.student in sure] or readings)[-1]
    return found


def _readings(name: str) -> list[Upload]:
    """What a name of Canvas can mean; that students are anonymous comes first."""
    found = []
    for place in (name.find(LATE),) if LATE in name[1:] else (at for at, char in enumerate(name) if char == "_"):
        if place > 0 and (numbers := CANVAS.fullmatch(name, place)):
            student = unicodedata.normalize("NFC", f"{name[:place]}_{numbers['user']}")
            found.append(
                Upload(student, numbers["name"] or numbers["page"], numbers["user"], int(numbers["file"] or 0))
            )
    if code := ANONYMOUS.fullmatch(name):
        student = f"anon_{code['user']}"
        found.insert(0, Upload(student, code["name"] or code["page"], code["user"], int(code["file"] or 0)))
    return found


class Joined:
    """What one student has in several places of a download, as one tree, under the names that the student gave."""

    def __init__(self, parts: Mapping[str, tuple[Upload, Tree, bool]]) -> None:
        """Of a file that was handed in again, the latest counts.

        Args:
            parts: path in the download -> its name there, a tree, and whether that is the file alone under this path.
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
                self._listing.told.append(f"{printable(upload.name)} {AGAIN}")
        self._listing.told.sort()

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
    """A note for the student on files that look as if they were meant to be read, and are not."""

    def meant(path: str) -> bool:
        name = path.rpartition("/")[2].lower()
        return name.endswith((".py", *ARCHIVES)) or name.startswith(tuple(f"{one}." for one in modules))

    names = [printable(path) for path in files if path not in used and meant(path)]
    if not names:
        return ()
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return (f"not read: {', '.join(names[:MAX_NAMED])}{more}",)
