"""The manifests: find the assignment folders, and read the stages and tests from each assignment.toml.

An assignment with an invalid manifest is skipped, so that commands still work for other assignments. A command that
names the invalid assignment reports the error. A draft, whose manifest is called assignment.draft.toml, is visible only
to its authors.
"""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.manifest.assignment import DRAFT, FILE, Assignment, Stage, package_of
from autograder.manifest.course_config import course_config, courses_of_packages
from autograder.manifest.reading import parse, read
from course.errors import UserError

__all__ = [
    "Assignment",
    "Broken",
    "Stage",
    "assignment",
    "assignments",
    "broken",
    "drafts",
    "every_assignment",
    "first_assignment",
    "graded_folder",
    "package_of",
    "work_on",
]

DRAFTED = "AUTOGRADER_DRAFT"  # the draft that its author is working on, in this process and its subprocesses


@dataclass(frozen=True)
class Broken:
    """An assignment with an invalid manifest."""

    name: str
    order: float
    error: UserError


def _found() -> tuple[Assignment | Broken, ...]:
    """Return all assignments of the course, in teaching order."""
    config = course_config()
    folders = (config.assignments, *(course.assignments for course in courses_of_packages(config.packages)))
    return _found_in(folders, os.environ.get(DRAFTED, ""))


@cache
def _found_in(folders: tuple[Path, ...], drafted: str) -> tuple[Assignment | Broken, ...]:
    # The course's own assignments come last, so that they take precedence.
    paths = {path.parent.name: path for folder in reversed(folders) for path in folder.glob(f"*/{FILE}")}
    paths |= {path.parent.name: path for path in (folders[0].glob(f"{drafted}/{DRAFT}") if drafted else ())}
    return tuple(sorted(map(_one, paths.values()), key=lambda entry: (entry.order, entry.name)))


def work_on(name: str | None) -> None:
    """Let an author's command find the assignment with this name, even if it is a draft."""
    if name and (course_config().assignments / name / DRAFT).is_file():
        os.environ[DRAFTED] = name


def _one(path: Path) -> Assignment | Broken:
    try:
        return read(path)
    except UserError as error:
        try:
            order = parse(path).get("order")
        except UserError:
            order = None
        return Broken(path.parent.name, order if isinstance(order, int) else float("inf"), error)


def assignments() -> dict[str, Assignment]:
    """Return the valid assignments by name, in teaching order."""
    return {entry.name: entry for entry in _found() if isinstance(entry, Assignment)}


def broken() -> dict[str, UserError]:
    """Return the errors found in invalid manifests."""
    return {entry.name: entry.error for entry in _found() if isinstance(entry, Broken)}


def drafts() -> list[Assignment]:
    """Return the valid drafts of the course, sorted by name."""
    read = map(_one, sorted(course_config().assignments.glob(f"*/{DRAFT}")))
    return [draft for draft in read if isinstance(draft, Assignment) and draft.name not in assignments()]


def assignment(name: str) -> Assignment:
    """Return the assignment with this name.

    Raises:
        UserError: if there is none (the message lists the names), or if its manifest is invalid.
    """
    if name in (wrong := broken()):
        raise wrong[name]
    try:
        return assignments()[name]
    except KeyError:
        if (course_config().assignments / name / DRAFT).is_file():
            raise UserError(
                f"{name} is a draft, for audit and build only. When it is ready, rename {DRAFT} to {FILE}"
            ) from None
        raise UserError(f"there is no assignment {name!r}; known: {', '.join(assignments()) or 'none'}") from None


def first_assignment() -> Assignment:
    """Return the assignment to use if none is named.

    Raises:
        UserError: if its manifest is invalid.
    """
    for first in _found():
        return assignment(first.name)
    raise UserError(
        f"there is no assignment in {course_config().assignments}: python -m autograder new NAME creates one"
    )


def graded_folder(named: Path) -> Path:
    """Return the results folder that a user specifies by its path or by the name of an assignment."""
    if not named.exists() and str(named) in assignments():
        return course_config().graded(str(named))
    return named


def every_assignment() -> tuple[Assignment, ...]:
    """Return all assignments, for commands that must not skip any.

    Raises:
        UserError: if a manifest is invalid.
    """
    return tuple(assignment(entry.name) for entry in _found())
