"""The manifest: which assignments, stages and tests there are, found by their folders and read from assignment.toml."""

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from course.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENTS = Path(__file__).resolve().with_name("assignments")
FILE = "assignment.toml"


@dataclass(frozen=True)
class Stage:
    """One step of an assignment: what the student writes and the tests that grade it."""

    assignment: str
    number: int
    name: str
    title: str
    notebook: str
    writes: tuple[str, ...]  # "module.Class.method"
    tests: str
    points: dict[str, float]  # test name -> points, in teaching order
    builds_on: tuple[str, ...]
    extra_credit: bool

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that hold what this stage writes, without repetition."""
        return tuple(dict.fromkeys(written.split(".")[0] for written in self.writes))

    @property
    def max_points(self) -> float:
        return sum(self.points.values())


@dataclass(frozen=True)
class Assignment:
    """A set of modules that a student hands in, graded in stages."""

    name: str
    order: int  # the assignments are taught in this order; the first is meant where none is named
    title: str
    modules: tuple[str, ...]
    checkpoint: str
    end_to_end: str
    stages: tuple[Stage, ...]

    @property
    def folder(self) -> Path:
        """Where everything of the assignment lies that the grader needs."""
        return ASSIGNMENTS / self.name

    @property
    def expected(self) -> Path:
        """The folder of the stored tensors."""
        return self.folder / "expected"

    @property
    def standins(self) -> Path:
        """The folder of the stand-ins."""
        return self.folder / "standins"

    @property
    def solution(self) -> Path:
        """The folder of the reference modules; it is not part of what students get."""
        return ROOT / "solutions" / self.name

    def stage(self, name: str) -> Stage:
        """The stage of a name.

        Raises:
            UserError: if there is none; the message lists the names.
        """
        for stage in self.stages:
            if stage.name == name:
                return stage
        names = ", ".join(stage.name for stage in self.stages)
        raise UserError(f"there is no stage {name!r}; the stages are {names}")

    def stage_of(self, written: str) -> Stage | None:
        """The stage in which `module.Class.method` is written, or None if it is given."""
        return next((stage for stage in self.stages if written in stage.writes), None)


def package_of(assignment: str) -> str:
    """The Python package of an assignment's tests and mistakes."""
    return f"autograder.assignments.{assignment}"


def _stage(assignment: str, number: int, entry: dict[str, Any]) -> Stage:
    return Stage(
        assignment=assignment,
        number=number,
        name=entry["name"],
        title=entry["title"],
        notebook=entry["notebook"],
        writes=tuple(entry["writes"]),
        tests=entry["tests"],
        points=dict(entry["points"]),
        builds_on=tuple(entry["builds_on"]),
        extra_credit=entry.get("extra_credit", False),
    )


def _read(path: Path) -> Assignment:
    with path.open("rb") as file:
        entry = tomllib.load(file)
    name = path.parent.name
    return Assignment(
        name=name,
        order=entry["order"],
        title=entry["title"],
        modules=tuple(entry["modules"]),
        checkpoint=entry["checkpoint"],
        end_to_end=entry["end_to_end"],
        stages=tuple(_stage(name, number, stage) for number, stage in enumerate(entry["stage"], start=1)),
    )


@cache
def assignments() -> dict[str, Assignment]:
    """All assignments by name, in teaching order."""
    found = map(_read, ASSIGNMENTS.glob(f"*/{FILE}"))
    return {entry.name: entry for entry in sorted(found, key=lambda entry: (entry.order, entry.name))}


def assignment(name: str) -> Assignment:
    """The assignment of a name.

    Raises:
        UserError: if there is none; the message lists the names.
    """
    try:
        return assignments()[name]
    except KeyError:
        raise UserError(f"there is no assignment {name!r}; there is {', '.join(assignments())}") from None
