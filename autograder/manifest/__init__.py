"""The manifests: find the assignments by their folders, and read their stages and tests from assignment.toml.

An assignment with an invalid manifest is skipped, so that it does not break commands for the others; a command that
names it reports the error.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.manifest.assignment import ASSIGNMENTS, ROOT, Assignment, Stage, package_of
from autograder.manifest.reading import FILE, parse, read
from course.errors import UserError

__all__ = [
    "ASSIGNMENTS",
    "ROOT",
    "Assignment",
    "Broken",
    "Stage",
    "assignment",
    "assignments",
    "broken",
    "every_assignment",
    "first_assignment",
    "package_of",
]


@dataclass(frozen=True)
class Broken:
    """An assignment with an invalid manifest."""

    name: str
    order: float
    error: UserError


@cache
def _found() -> tuple[Assignment | Broken, ...]:
    """Return all assignments in the assignments' folder, in teaching order."""
    entries = [_one(path) for path in ASSIGNMENTS.glob(f"*/{FILE}")]
    return tuple(sorted(entries, key=lambda entry: (entry.order, entry.name)))


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
    """Return the errors of the invalid manifests."""
    return {entry.name: entry.error for entry in _found() if isinstance(entry, Broken)}


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
        raise UserError(f"there is no assignment {name!r}; there is {', '.join(assignments())}") from None


def first_assignment() -> Assignment:
    """Return the assignment to use if none is named.

    Raises:
        UserError: if its manifest is invalid.
    """
    for first in _found():
        return assignment(first.name)
    raise UserError(f"there is no assignment in {ASSIGNMENTS}")


def every_assignment() -> tuple[Assignment, ...]:
    """Return all assignments, for commands that must not skip any.

    Raises:
        UserError: if a manifest is invalid.
    """
    return tuple(assignment(entry.name) for entry in _found())
