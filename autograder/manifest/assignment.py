"""What the manifest says, as plain data: an assignment, its stages, their tests and points."""

from dataclasses import dataclass, field
from pathlib import Path

from course.errors import UserError

ROOT = Path(__file__).resolve().parent.parent.parent
ASSIGNMENTS = ROOT / "autograder" / "assignments"


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
    parts: dict[str, dict[str, float]]  # test name -> points of its named parts, for tests that have some
    builds_on: tuple[str, ...]
    extra_credit: bool
    # "test", or "test.part" -> the function that it grades, where the stage has students write several
    grades: dict[str, str] = field(default_factory=dict)
    # function -> those of the same stage that it builds on, and that these build on: where a test or part that grades
    # it fails, their stand-ins take the student's place
    uses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    calls: tuple[
        str, ...
    ] = ()  # those of `builds_on` whose stand-ins its functions may call; the tests need the others
    forbids: tuple[str, ...] = ()  # parts of torch that its code must not use, beside those that no stage may
    allows: tuple[str, ...] = ()  # parts of torch that its code may use although other stages may not

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that hold what this stage writes, without repetition."""
        return tuple(dict.fromkeys(written.split(".")[0] for written in self.writes))

    @property
    def max_points(self) -> float:
        return sum(self.points.values())

    def graded_by(self, test: str, part: str = "") -> str:
        """The function that a test, or a part of it, grades; "" if the manifest does not say."""
        alone = self.writes[0] if len(self.writes) == 1 else ""
        return self.grades.get(f"{test}.{part}") or self.grades.get(test, alone)

    def used_by(self, test: str) -> tuple[str, ...]:
        """The functions of this stage that a test uses but does not grade."""
        graded = {self.graded_by(test, part) for part in self.parts.get(test, ("",))}
        return tuple(sorted({used for one in graded for used in self.uses.get(one, ())} - graded))


@dataclass(frozen=True)
class Assignment:
    """A set of modules that a student hands in, graded in stages."""

    name: str
    order: int  # the assignments are taught in this order; the first is meant where none is named
    title: str
    modules: tuple[str, ...]
    checkpoints: tuple[str, ...]  # the trained models that its tests and notebooks load, by their folders
    end_to_end: str  # the test that is run once more with the student's own modules only; "" for none
    stages: tuple[Stage, ...]
    more_notebooks: tuple[str, ...] = ()  # those that belong to no stage

    @property
    def notebooks(self) -> tuple[str, ...]:
        """The file names of all notebooks in teaching order: their names begin with their numbers."""
        return tuple(sorted((*(stage.notebook for stage in self.stages), *self.more_notebooks)))

    @property
    def max_points(self) -> float:
        """The points of all stages, extra credit included."""
        return sum(stage.max_points for stage in self.stages)

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

    @property
    def released(self) -> Path:
        """The folder with what students receive."""
        return ROOT / "notebooks" / self.name

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
