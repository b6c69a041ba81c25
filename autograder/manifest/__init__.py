"""The manifest: which assignments, stages and tests there are, found by their folders and read from assignment.toml.

An assignment whose manifest is wrong is left out, so that it does not end the commands of the others; whoever names it
is told what is wrong.
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
    """An assignment whose manifest is wrong."""

    name: str
    order: float
    error: UserError


@cache
def _found() -> tuple[Assignment | Broken, ...]:
    """What lies in the folder of the assignments, in teaching order."""
    found = [_one(path) for path in ASSIGNMENTS.glob(f"*/{FILE}")]
    return tuple(sorted(found, key=lambda one: (one.order, one.name)))


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
    """The assignments by name, in teaching order, without those whose manifest is wrong."""
    return {one.name: one for one in _found() if isinstance(one, Assignment)}


def broken() -> dict[str, UserError]:
    """What is wrong with the manifests of the other assignments."""
    return {one.name: one.error for one in _found() if isinstance(one, Broken)}


def assignment(name: str) -> Assignment:
    """The assignment of a name.

    Raises:
        UserError: if there is none, the message lists the names; or what is wrong with its manifest.
    """
    if name in (wrong := broken()):
        raise wrong[name]
    try:
        return assignments()[name]
    except KeyError:
        raise UserError(f"there is no assignment {name!r}; there is {', '.join(assignments())}") from None


def first_assignment() -> Assignment:
    """The assignment that is meant where none is named.

    Raises:
        UserError: what is wrong with its manifest.
    """
    for first in _found():
        return assignment(first.name)
    raise UserError(f"there is no assignment in {ASSIGNMENTS}")


def every_assignment() -> tuple[Assignment, ...]:
    """All assignments, for commands that must leave none out.

    Raises:
        UserError: what is wrong with the manifest of one.
    """
    return tuple(assignment(one.name) for one in _found())
