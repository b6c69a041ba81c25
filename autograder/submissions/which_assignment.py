"""Which assignment is meant, where nobody says it: the one whose folder or whose modules these are."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from autograder.manifest import Assignment, assignment, assignments, broken, first_assignment
from autograder.submissions.loose_files import original, without_number
from autograder.submissions.untrusted_files import MAX_ARCHIVE, Archive, Folder, Unreadable, read_regular
from course.errors import UserError


def which_assignment(name: str | None, *places: Path | None) -> Assignment:
    """The assignment of a name; without one, that of the first place that tells, else the first in teaching order.

    Args:
        places: folders or zip files, of a student or of a class. A folder that is named after an assignment tells, and
            so does one in which there are modules of one assignment only.

    Raises:
        UserError: if there is no such assignment, or if a place holds modules of several.
    """
    if name is not None:
        return assignment(name)
    everything = assignments()
    for place in filter(None, places):
        if place.resolve().name in {*everything, *broken()}:
            return assignment(place.resolve().name)
        fitting = [one for one in everything.values() if _files(one) & _names(place)] if len(everything) > 1 else []
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            names = ", ".join(one.name for one in fitting)
            raise UserError(f"{place} holds modules of several assignments: say which one with --assignment ({names})")
    return first_assignment()


def _files(one: Assignment) -> set[str]:
    return {f"{module}.py" for module in one.modules}


def _names(place: Path) -> set[str]:
    """The names of the files in a folder or a zip file, at any depth."""
    try:
        files: Iterable[str] = ()
        if place.is_dir():
            files = Folder(place).listing().files
        elif place.suffix.lower() == ".zip":
            files = Archive.of_bytes(read_regular(place, MAX_ARCHIVE)).listing().files
        return {without_number(original(file))[0] for file in (PurePosixPath(file).name for file in files)}
    except Unreadable:  # whoever reads the submission says so
        return set()
