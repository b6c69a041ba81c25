"""Files that are not called as the modules are: loose downloads of Canvas, second uploads, other archives."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from autograder.submissions.untrusted_files import Archive, Listing, Tree, printable

# Canvas' Download Submissions: student_number of the student_number of the file_name, or student_LATE_number_...
CANVAS = re.compile(r"(?P<student>[^_]+)_(?:LATE_)?(?P<user>\d+)_(?P<file>\d+)_(?P<name>.+)", re.DOTALL)
# What Canvas makes of the name of a second upload (mha-1.py) and browsers of a second download: mha(1).py, mha (1).py.
NUMBERED = re.compile(r"(?P<name>.+?)(?:-(?P<canvas>\d{1,4})| ?\((?P<browser>\d{1,4})\))(?P<ending>\.\w+)")
OTHER_ARCHIVES = (".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz")
ARCHIVES = (".zip", *OTHER_ARCHIVES)
MAX_NAMED = 8


def without_number(name: str) -> tuple[str, int]:
    """The name of a file without the number of a second upload, and the number, or 0."""
    found = NUMBERED.fullmatch(name)
    return (found["name"] + found["ending"], int(found["canvas"] or found["browser"])) if found else (name, 0)


def is_module(name: str, modules: Collection[str]) -> bool:
    """Whether a file is one of the modules, perhaps with a number."""
    return without_number(name)[0] in {f"{module}.py" for module in modules}


@dataclass(frozen=True)
class Loose:
    """The files of one student among those of a class, under the names that the student gave them."""

    tree: Tree
    paths: dict[str, str]  # name -> path in the tree
    older: tuple[str, ...]  # what was handed in again

    @classmethod
    def of(cls, tree: Tree, paths: Iterable[str]) -> "Loose":
        """From the paths of a student's files: of those that were handed in again, the latest one counts."""
        uploads: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for path in paths:
            if found := CANVAS.fullmatch(path.rpartition("/")[2]):
                name, number = without_number(found["name"])
                uploads[name].append((number, int(found["file"]), path))
        latest = {name: max(same)[2] for name, same in uploads.items()}
        kept = {original(path): path for path in latest.values()}
        older = sorted(original(path) for same in uploads.values() for *_, path in same if path not in kept.values())
        return cls(tree, kept, tuple(older))

    @property
    def nesting(self) -> int:
        return self.tree.nesting

    def listing(self) -> Listing:
        there = self.tree.listing().files if isinstance(self.tree, Archive) else {}
        again = [f"{printable(name)} was handed in again: the later file counts" for name in self.older]
        return Listing({name: there.get(path, "") for name, path in self.paths.items()}, [], again)

    def read(self, path: str, limit: int) -> bytes:
        return self.tree.read(self.paths[path], limit)


def original(path: str) -> str:
    """The name that a student gave a file of Canvas."""
    found = CANVAS.fullmatch(path.rpartition("/")[2])
    return found["name"] if found else path


def by_student(names: Iterable[str], modules: Collection[str]) -> dict[str, list[str]]:
    """The loose files of Canvas by student, or nothing if none of them is a module or an archive.

    Args:
        names: of files in one folder, or their paths.
        modules: of the assignment.

    Returns:
        name and number of a student -> the files.
    """
    students: dict[str, list[str]] = defaultdict(list)
    some = False
    for path in sorted(names):
        if found := CANVAS.fullmatch(path.rpartition("/")[2]):
            students[f"{found['student']}_{found['user']}"].append(path)
            some = some or is_module(found["name"], modules) or found["name"].lower().endswith(ARCHIVES)
    return dict(students) if some else {}


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
