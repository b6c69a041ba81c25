"""The content of a manifest as plain data: an assignment, its stages, their tests and points."""

from dataclasses import dataclass, field
from pathlib import Path

from autograder.manifest.course_config import home_of
from course.errors import UserError

FILE, DRAFT = "assignment.toml", "assignment.draft.toml"


@dataclass(frozen=True)
class Stage:
    """One step of an assignment: what the student writes and the tests that grade it."""

    assignment: str
    number: int
    name: str
    title: str
    notebook: str
    writes: tuple[str, ...]  # "module.Class.method" or "module.function"
    tests: str
    points: dict[str, float]  # test name -> points, in teaching order
    parts: dict[str, dict[str, float]]  # test name -> points of its named parts, for tests with parts
    builds_on: tuple[str, ...]
    extra_credit: bool
    # "test" or "test.part" -> the function that it grades, if students write several in the stage
    grades: dict[str, str] = field(default_factory=dict)
    # function -> functions of the same stage that it uses, directly or indirectly: if a test or part that grades it
    # fails, it runs again with stand-ins for these
    uses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # the stages in `builds_on` whose stand-ins its functions may call; only the tests need the others
    calls: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()  # parts of torch that its code must not use, besides those forbidden everywhere
    allows: tuple[str, ...] = ()  # parts of torch that its code may use although they are forbidden elsewhere

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules in which students write code in this stage, without duplicates."""
        return tuple(dict.fromkeys(written.split(".")[0] for written in self.writes))

    @property
    def max_points(self) -> float:
        return sum(self.points.values())

    def graded_by(self, test: str, part: str = "") -> str:
        """Return the function that a test or test part grades, or "" if the manifest does not name one."""
        alone = self.writes[0] if len(self.writes) == 1 else ""
        return self.grades.get(f"{test}.{part}") or self.grades.get(test, alone)

    def used_by(self, test: str) -> tuple[str, ...]:
        """Return the functions of this stage that a test uses but does not grade."""
        graded = {self.graded_by(test, part) for part in self.parts.get(test, ("",))}
        return tuple(sorted({used for function in graded for used in self.uses.get(function, ())} - graded))


@dataclass(frozen=True)
class Assignment:
    """A set of modules that a student hands in, graded in stages."""

    name: str
    order: int  # teaching order; the first assignment is the default
    title: str
    modules: tuple[str, ...]
    checkpoints: tuple[str, ...]  # the trained models that its tests and notebooks load, by folder name
    end_to_end: str  # the test to repeat with all of the student's own modules; "" for none
    stages: tuple[Stage, ...]
    more_notebooks: tuple[str, ...] = ()  # notebooks that belong to no stage
    goal: str = ""  # what students will have built at the end, for the start page

    @property
    def notebooks(self) -> tuple[str, ...]:
        """The file names of all notebooks, sorted by their leading numbers, which give the teaching order."""
        return tuple(sorted((*(stage.notebook for stage in self.stages), *self.more_notebooks)))

    @property
    def max_points(self) -> float:
        """The total points of all stages, including extra credit."""
        return sum(stage.max_points for stage in self.stages)

    @property
    def folder(self) -> Path:
        """The folder with everything that the grader needs for the assignment."""
        return home_of(self.name).assignments / self.name

    @property
    def manifest(self) -> Path:
        """The manifest, which has a different name while the assignment is a draft."""
        return next((path for name in (FILE, DRAFT) if (path := self.folder / name).is_file()), self.folder / FILE)

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
        """The folder of the reference modules; students do not receive it."""
        return home_of(self.name).folder / "solutions" / self.name

    @property
    def released(self) -> Path:
        """The folder of the files that students receive."""
        return home_of(self.name).folder / "notebooks" / self.name

    def stage(self, name: str) -> Stage:
        """Return the stage with this name.

        Raises:
            UserError: if there is none; the message lists the names.
        """
        for stage in self.stages:
            if stage.name == name:
                return stage
        names = ", ".join(stage.name for stage in self.stages)
        raise UserError(f"there is no stage {name!r}; the stages are {names}")

    def stage_of(self, written: str) -> Stage | None:
        """Return the stage in which students write `module.Class.method`, or None if it is provided code."""
        return next((stage for stage in self.stages if written in stage.writes), None)


def package_of(assignment: str) -> str:
    """The Python package with an assignment's tests and mistakes."""
    return f"autograder.assignments.{assignment}"
