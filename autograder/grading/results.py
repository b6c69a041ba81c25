"""The results of grading: plain data for all reports."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from autograder.diagnosis.line_verdict import LineMark, LineVerdict

# The possible outcomes of a test. "fault" is a failure of the grader itself, never of the student.
STATUSES = ("passed", "failed", "not started", "error", "timed out", "no file", "forbidden", "blocked", "fault")

NOT_JUDGED = "not judged"  # the message of a part begins with this if it needs another part that failed


@dataclass(frozen=True)
class PartResult:
    """The outcome of a part of a test that has its own points."""

    name: str
    status: str
    points: float
    max_points: float
    message: str = ""
    hidden: bool = False  # whether a hidden test decided this outcome


@dataclass(frozen=True)
class TestResult:
    """The outcome of one test."""

    __test__ = False  # despite its name, not a test for pytest

    stage: str
    name: str
    title: str  # the topic of the test, in a sentence
    status: str
    points: float
    max_points: float
    message: str = ""  # one line: what was wrong
    details: tuple[str, ...] = ()  # where, expected and got, what to do
    mistake: str = ""  # id of the known mistake that explains the failure
    hints: tuple[str, ...] = ()  # what the mistake looks like, what to read again
    hidden: bool = False  # whether a hidden test decided the outcome; then the message is for instructors only
    printed: str = ""  # what the student's code printed
    seconds: float = 0.0
    reviewed: str = ""  # the staff's comment, or their change of the points
    parts: tuple[PartResult, ...] = ()  # if it has parts, the message above is that of the first failed part
    pointed: tuple[str, ...] = ()  # which lines are right and which one is the first wrong line, in sentences
    marks: tuple[LineMark, ...] = ()  # the same information, line by line
    short: str = ""  # the details in one line
    fault_step: str = ""  # the named step that the first wrong line should compute
    places: tuple[tuple[str, int], ...] = ()  # file and line of an exception, a stub, a forbidden part

    def pointing(self, verdict: LineVerdict) -> "TestResult":
        """Return this outcome with a verdict on lines."""
        return replace(self, pointed=verdict.pointed, marks=verdict.marks, fault_step=verdict.step)

    def guarded_by(self, hidden: "TestResult") -> "TestResult":
        """Combine this outcome of a visible test with that of the hidden test that shares its points.

        A part earns its points if it passes in both tests. If the visible test failed, its messages are kept.
        """
        if not self.parts or hidden.status == "fault":
            return hidden
        others = {part.name: part for part in hidden.parts}
        parts = tuple(others.get(part.name, part) if part.status == "passed" else part for part in self.parts)
        shown = hidden if self.status == "passed" else self
        seconds = self.seconds + hidden.seconds
        return replace(shown, parts=parts, points=sum(part.points for part in parts), seconds=seconds)


@dataclass(frozen=True)
class StageResult:
    """The outcome of one stage."""

    name: str
    number: int
    title: str
    extra_credit: bool
    tests: tuple[TestResult, ...]
    adjustment: float = 0.0  # points that the staff added to the sum of the tests, or subtracted from it
    comments: tuple[str, ...] = ()  # from the staff on this stage, for the student

    @property
    def points(self) -> float:
        return sum(test.points for test in self.tests) + self.adjustment

    @property
    def max_points(self) -> float:
        return sum(test.max_points for test in self.tests)


@dataclass(frozen=True)
class Report:
    """The outcome of a submission."""

    title: str
    submission: str
    stages: tuple[StageResult, ...]
    seconds: float
    hidden_seed: int | None = None  # of the hidden tests, if they ran; the same seed produces the same inputs
    end_to_end: TestResult | None = None  # a test with the student's own modules only, without points
    confined: bool | None = None  # whether the workers were confined; None if students graded themselves
    review: tuple[str, ...] = ()  # notes for the instructor; hidden from students
    comments: tuple[str, ...] = ()  # from the staff, for the student
    files: tuple[str, ...] = ()  # which files count and which were ignored, for the student

    @property
    def tests(self) -> tuple[TestResult, ...]:
        return tuple(test for stage in self.stages for test in stage.tests)

    @property
    def points(self) -> float:
        return sum(stage.points for stage in self.stages)

    @property
    def max_points(self) -> float:
        return sum(stage.max_points for stage in self.stages)

    @property
    def faulty(self) -> bool:
        """Whether the grader itself failed at any point."""
        extra = (self.end_to_end,) if self.end_to_end else ()
        return any(test.status == "fault" for test in (*self.tests, *extra))

    @property
    def complete(self) -> bool:
        """Whether all required points (those that are not extra credit) were earned."""
        return all(stage.points == stage.max_points for stage in self.stages if not stage.extra_credit)


def to_json(report: Report) -> dict[str, Any]:
    """Convert a report to an object for JSON."""
    return asdict(report)


def from_json(entry: dict[str, Any]) -> Report:
    """Convert an object returned by `to_json` back to a report.

    Raises:
        KeyError, TypeError: if it is not a report.
    """

    def test(fields: dict[str, Any]) -> TestResult:
        parts = tuple(PartResult(**part) for part in fields.get("parts", ()))  # older reports have none
        marks = tuple(LineMark(**{**mark, "steps": tuple(mark["steps"])}) for mark in fields.get("marks", ()))
        places = tuple((file, line) for file, line in fields.get("places", ()))
        lists = {name: tuple(fields.get(name, ())) for name in ("details", "hints", "pointed")}
        return TestResult(**{**fields, **lists, "parts": parts, "marks": marks, "places": places})

    def stage(fields: dict[str, Any]) -> StageResult:
        lists = {"tests": tuple(map(test, fields["tests"])), "comments": tuple(fields.get("comments", ()))}
        return StageResult(**{**fields, **lists})

    end_to_end = test(entry["end_to_end"]) if entry["end_to_end"] else None
    stages = tuple(map(stage, entry["stages"]))
    notes = {name: tuple(entry.get(name, ())) for name in ("review", "files", "comments")}
    return Report(**{**entry, "stages": stages, "end_to_end": end_to_end, **notes})
