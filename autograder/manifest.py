"""The manifest: which assignments, stages and tests there are, read from stages.toml."""

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

MANIFEST = Path(__file__).with_name("stages.toml")


@dataclass(frozen=True)
class Stage:
    """One step of an assignment: what the student writes and the tests that grade it."""

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
    title: str
    modules: tuple[str, ...]
    checkpoint: str
    end_to_end: str
    stages: tuple[Stage, ...]

    @property
    def solution(self) -> Path:
        """The folder of the reference modules; it is not part of what students get."""
        return MANIFEST.parent.parent / "solutions" / self.name

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


def _stage(number: int, entry: dict[str, Any]) -> Stage:
    return Stage(
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


@cache
def assignments() -> dict[str, Assignment]:
    """All assignments by name."""
    with MANIFEST.open("rb") as file:
        entries = tomllib.load(file)["assignment"]
    return {
        entry["name"]: Assignment(
            name=entry["name"],
            title=entry["title"],
            modules=tuple(entry["modules"]),
            checkpoint=entry["checkpoint"],
            end_to_end=entry["end_to_end"],
            stages=tuple(_stage(number, stage) for number, stage in enumerate(entry["stage"], start=1)),
        )
        for entry in entries
    }


def assignment(name: str = "transformer") -> Assignment:
    """The assignment of a name.

    Raises:
        UserError: if there is none; the message lists the names.
    """
    try:
        return assignments()[name]
    except KeyError:
        raise UserError(f"there is no assignment {name!r}; there is {', '.join(assignments())}") from None
