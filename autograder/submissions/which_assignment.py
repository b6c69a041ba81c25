"""If no assignment is named, guess it from the folder's name or from the modules."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from autograder.manifest import Assignment, assignment, assignments, broken, drafts, first_assignment
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
    """Return the named assignment; without a name, guess it from `places`, or else use the course's first assignment.

    Args:
        places: a student's folders or zip files. A folder reveals an assignment by its name, or by containing modules
            of that assignment only.

    Raises:
        UserError: if there is no such assignment, or if one of the places has modules of several.
    """
    if name is not None:
        return assignment(name)
    for place in filter(None, places):
        if named := _named(place):
            return named
        fitting = _fitting(_names(place), assignments().values())
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise _several(place, fitting)
    return first_assignment()


def assignment_of_class(name: str | None, place: Path) -> tuple[Assignment, list[str]]:
    """Return the named assignment or, without a name, the one for which most students handed in modules.

    Args:
        place: a folder or a zip file of a class, see `find_submissions`.

    Returns:
        The assignment, and notes on students who handed in modules of other assignments.

    Raises:
        UserError: if there is no such assignment, or if the submissions fit none, several, or only a draft.
    """
    if name is not None:
        return assignment(name), []
    if named := _named(place):
        return named, []
    finished, unfinished = list(assignments().values()), drafts()
    everything = [*finished, *unfinished]
    if not everything:
        return first_assignment(), []
    candidates = {
        student: fitting
        for student, names in _by_student(place, everything).items()
        if (fitting := _fitting(names, finished) or _fitting(names, unfinished))
    }
    if not candidates:
        for error in broken().values():  # the modules may be for this assignment
            raise error
        names = " or ".join(each.name for each in everything)
        raise UserError(f"{place} has no module of {names}: check the folder, or choose one with --assignment NAME")
    # Students with modules of two assignments count for both; if most have both, only the instructor can decide.
    held = {each.name: sum(each in fitting for fitting in candidates.values()) for each in everything}
    of_most = [each for each in everything if 2 * held[each.name] > len(candidates)]
    if len(of_most) != 1:
        raise _several(place, [each for each in everything if held[each.name]])
    chosen = assignment(of_most[0].name)  # refuses a draft
    odd = {student: fitting for student, fitting in sorted(candidates.items()) if fitting != [chosen]}
    return chosen, [_note(chosen, odd)] if odd else []


def _note(chosen: Assignment, odd: dict[str, list[Assignment]]) -> str:
    shown = [
        f"{printable(student)} ({', '.join(other.name for other in fitting if other != chosen)})"
        for student, fitting in [*odd.items()][:MAX_NAMED]
    ]
    more = f" and {len(odd) - MAX_NAMED} more" if len(odd) > MAX_NAMED else ""
    return (
        f"Modules of other assignments were handed in by {', '.join(shown)}{more}. "
        f"The graded assignment is {chosen.name}, for which most students have modules; "
        "--assignment NAME grades a different one."
    )


def _several(place: Path, fitting: list[Assignment]) -> UserError:
    names = ", ".join(assignment.name for assignment in fitting)
    return UserError(f"{place} contains modules of several assignments: choose one with --assignment ({names})")


def _named(place: Path) -> Assignment | None:
    """Return the assignment that a folder is named after.

    Raises:
        UserError: if its manifest is invalid.
    """
    name = place.resolve().name
    return assignment(name) if name in {*assignments(), *broken()} else None


def _fitting(names: set[str], among: Iterable[Assignment]) -> list[Assignment]:
    """Return the assignments that have a module among these file names."""
    return [each for each in among if {f"{name}.py" for name in each.modules} & names]


def _names(place: Path) -> set[str]:
    """Return the names of the files in a student's folder or zip file, at any depth."""
    try:
        if place.is_dir():
            return _plain(Folder(place).listing().files)
        if place.suffix.lower() == ".zip":
            return _plain(Archive.of_bytes(read_regular(place, MAX_ARCHIVE)).listing().files)
    except Unreadable:  # reported when the submission is read
        pass
    return set()


def _plain(paths: Iterable[str]) -> set[str]:
    """Return the names that the students gave their files."""
    names = [PurePosixPath(path).name for path in paths]
    known = uploads(names)
    return {without_number(known[name].name if name in known else name)[0] for name in names}


def _by_student(place: Path, everything: list[Assignment]) -> dict[str, set[str]]:
    """Return the names of each student's files; the key "" is for unclaimed files.

    Raises:
        UserError: if there are no submissions.
    """
    from autograder.submissions.find_submissions import take_in  # not in the students' version

    intake = take_in(place, everything)
    names = {"": _plain(intake.unclaimed)}
    for submission in intake.found:
        with suppress(*DAMAGED, Unreadable):
            # Each submission is listed separately, so that one with many files does not hide the others.
            names[submission.student] = _plain(_listed(submission.tree()))
    return names


def _listed(tree: Tree) -> list[str]:
    """Return the paths in a tree; if the tree contains exactly one zip file, also return the paths inside that file."""
    files = list(tree.listing().files)
    zips = [path for path in files if path.lower().endswith(".zip")]
    return files + list(open_zip(tree, zips[0]).listing().files) if len(zips) == 1 else files
