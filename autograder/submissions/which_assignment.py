"""Which assignment is meant, where nobody says it: the one whose folder or whose modules these are."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from autograder.manifest import Assignment, assignment, assignments, broken, first_assignment
from autograder.submissions.loose_files import uploads, without_number
from autograder.submissions.untrusted_files import (
    DAMAGED,
    MAX_ARCHIVE,
    Archive,
    Folder,
    Tree,
    Unreadable,
    open_zip,
    printable,
    read_regular,
)
from course.errors import UserError

MAX_NAMED = 8


def which_assignment(name: str | None, *places: Path | None) -> Assignment:
    """The assignment of a name; without one, that of the first place that tells, else the first in teaching order.

    Args:
        places: folders or zip files of a student. A folder that is named after an assignment tells, and so does one in
            which there are modules of one assignment only.

    Raises:
        UserError: if there is no such assignment, or if a place holds modules of several.
    """
    if name is not None:
        return assignment(name)
    for place in filter(None, places):
        if named := _named(place):
            return named
        fitting = _fitting(_names(place))
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise _several(place, fitting)
    return first_assignment()


def assignment_of_class(name: str | None, place: Path) -> tuple[Assignment, list[str]]:
    """The assignment of a name; without one, the only one of which most students have handed in modules.

    Args:
        place: a folder or a zip file of a class, see `find_submissions`.

    Returns:
        The assignment, and what is to be said of students who handed in modules of others.

    Raises:
        UserError: if there is no such assignment, or if the students do not tell.
    """
    if name is not None:
        return assignment(name), []
    if named := _named(place):
        return named, []
    told = {student: fitting for student, names in _by_student(place).items() if (fitting := _fitting(names))}
    if not told:
        return first_assignment(), []
    # Who has modules of two assignments speaks for both: if most do, nobody but the instructor knows which one it is.
    held = {one.name: sum(one in fitting for fitting in told.values()) for one in assignments().values()}
    of_most = [one for one in assignments().values() if 2 * held[one.name] > len(told)]
    if len(of_most) != 1:
        raise _several(place, [one for one in assignments().values() if held[one.name]])
    (chosen,) = of_most
    odd = {student: fitting for student, fitting in sorted(told.items()) if fitting != [chosen]}
    return chosen, [_note(chosen, odd)] if odd else []


def _note(chosen: Assignment, odd: dict[str, list[Assignment]]) -> str:
    shown = [
        f"{printable(student)} ({', '.join(one.name for one in fitting if one != chosen)})"
        for student, fitting in [*odd.items()][:MAX_NAMED]
    ]
    more = f" and {len(odd) - MAX_NAMED} more" if len(odd) > MAX_NAMED else ""
    return (
        f"Modules of other assignments were handed in by {', '.join(shown)}{more}. Graded is {chosen.name}, of which "
        "most students have modules; --assignment NAME grades another."
    )


def _several(place: Path, fitting: list[Assignment]) -> UserError:
    names = ", ".join(one.name for one in fitting)
    return UserError(f"{place} holds modules of several assignments: say which one with --assignment ({names})")


def _named(place: Path) -> Assignment | None:
    """The assignment that a folder is named after.

    Raises:
        UserError: if its manifest is wrong.
    """
    name = place.resolve().name
    return assignment(name) if name in {*assignments(), *broken()} else None


def _fitting(names: set[str]) -> list[Assignment]:
    """The assignments of which there are modules; nothing to decide where there is one assignment only."""
    everything = assignments().values()
    return [one for one in everything if {f"{name}.py" for name in one.modules} & names] if len(everything) > 1 else []


def _names(place: Path) -> set[str]:
    """The names of the files of a student in a folder or a zip file, at any depth."""
    try:
        if place.is_dir():
            return _plain(Folder(place).listing().files)
        if place.suffix.lower() == ".zip":
            return _plain(Archive.of_bytes(read_regular(place, MAX_ARCHIVE)).listing().files)
    except Unreadable:  # whoever reads the submission says so
        pass
    return set()


def _plain(paths: Iterable[str]) -> set[str]:
    """The names that students gave their files."""
    names = [PurePosixPath(path).name for path in paths]
    known = uploads(names)
    return {without_number(known[name].name if name in known else name)[0] for name in names}


def _by_student(place: Path) -> dict[str, set[str]]:
    """The names of the files of each student; "" is all that is nobody's."""
    from autograder.submissions.find_submissions import take_in  # students, who have no class, do without

    try:
        intake = take_in(place, list(assignments().values()))
    except UserError:  # find_submissions says so
        return {}
    found = {"": _plain(intake.unclaimed)}
    for one in intake.found:
        with suppress(*DAMAGED, Unreadable):
            # Each is listed by itself: the many files of one student hide nobody else's.
            found[one.student] = _plain(_listed(one.tree()))
    return found


def _listed(tree: Tree) -> list[str]:
    """The paths in a tree, and in the only zip file of it."""
    files = list(tree.listing().files)
    zips = [path for path in files if path.lower().endswith(".zip")]
    return files + list(open_zip(tree, zips[0]).listing().files) if len(zips) == 1 else files
