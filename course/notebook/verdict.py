"""State that `check` keeps in a kernel (warm process, last results), and the verdict as a table."""

import atexit
import hashlib
import os
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from autograder.grading.results import Report
from autograder.grading.warm_session import Session
from autograder.manifest import Assignment, Stage
from autograder.reports.html_pages import look, render
from autograder.reports.short_verdict import points
from autograder.reports.student_feedback import for_student
from autograder.submissions.read_submission import read_submission
from course.page_style import NARROW, STYLE

if TYPE_CHECKING:
    from autograder.diagnosis.compare_tensors import Incorrect


@dataclass(frozen=True)
class Standing:
    """The state of a stage in the progress strip."""

    stage: Stage
    points: float | None = None  # None if the current modules have not been graded
    begun: bool = True  # whether anything is written

    @property
    def state(self) -> str:
        """Return "full" for full marks, "part" for less, "todo" if not begun or unknown."""
        if self.points is None or not self.begun:
            return "todo"
        return "full" if self.points == self.stage.max_points else "part"

    @property
    def words(self) -> str:
        return "…" if self.points is None else f"{points(self.points)} of {points(self.stage.max_points)}"


class Verdict:
    """A verdict for display in a notebook."""

    def __init__(self, html: str, text: str) -> None:
        self.html, self.text = html, text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text


class Desk:
    """The checks that run in one kernel, and their latest results."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.session = Session(self.assignment)
        self.last: Stage | None = None
        self._results: dict[str, tuple[float, bool, str]] = {}  # stage -> points, begun, digest of modules
        atexit.register(self.session.close)

    def check(self, stage: Stage, folder: Path) -> Report:
        """Grade a stage and store the result."""
        self.last = stage
        return self._grade(stage, folder)

    def _grade(self, stage: Stage, folder: Path) -> Report:
        before, start = self._digest(stage, folder), time.monotonic()
        report = self.session.grade(folder, [stage])
        report = replace(report, seconds=time.monotonic() - start)  # as long as the student waited
        if not report.faulty:
            # A test is "not started" if one part is not written, even if its other parts have passed.
            begun = report.points > 0 or any(test.status != "not started" for test in report.tests)
            self._results[stage.name] = report.points, begun, before
        return report

    def progress(self, folder: Path) -> list[Standing]:
        """Return the state of all stages, as far as it is known."""
        standings = []
        for stage in self.assignment.stages:
            known, begun, digest = self._results.get(stage.name, (None, False, ""))
            current = digest == self._digest(stage, folder)
            standings.append(Standing(stage, known if current else None, begun))
        return standings

    def catch_up(self, folder: Path) -> bool:
        """Grade the stages whose state is unknown; return whether there were any."""
        unknown = [standing.stage for standing in self.progress(folder) if standing.points is None]
        for stage in unknown:
            self._grade(stage, folder)
        return bool(unknown)

    def is_right(self, stage: Stage, folder: Path) -> bool:
        """Whether a stage passes all of its visible tests; grade it first if this is unknown."""
        known = next(standing.points for standing in self.progress(folder) if standing.stage is stage)
        if known is None:
            report = self._grade(stage, folder)
            known = stage.max_points if report.faulty else report.points  # a fault says nothing about the modules
        return known == stage.max_points

    def mistake(self, stage: Stage) -> tuple[str, "Incorrect"] | None:
        """Return a stage's first failed test whose tensor can be compared element by element."""
        mistakes = self.session.mistakes.get(stage.name, [])
        return next(((test, error) for test, error in mistakes if error.expected is not None), None)

    def show(self, stage: Stage, report: Report, folder: Path, step: str = "") -> Verdict:
        """Render the verdict as a table, with the progress of all stages above it (left out for a step)."""
        (result,) = for_student(report).stages
        errors, failing = "", {test.name for test in result.tests if test.status != "passed"}
        mistake = self.mistake(stage)
        if mistake is not None and mistake[0] not in failing:
            mistake = None
        if mistake is not None:
            from course.notebook.error_maps import error_image

            errors = error_image(mistake[1])
        html = render(
            "verdict.html",
            style=Markup(STYLE),
            narrow=NARROW,
            stage=result,
            step=step,
            tests=result.tests,
            # nbgrader grades a single stage: the others would stay "…".
            progress=[] if step or "NBGRADER_EXECUTION" in os.environ else self.progress(folder),
            errors=errors,
            failing=mistake[0] if mistake else "",
            seconds=report.seconds,
        )
        name = f"Stage {result.number}" + (f", {step}" if step else "")
        text = [f"{name}: {points(result.points)} of {points(result.max_points)} points"]
        text += [
            f"{look(test.status).symbol} {test.status}: {test.title} {test.message}".rstrip() for test in result.tests
        ]
        return Verdict(re.sub(r"\n\s*\n", "\n", html), "\n".join(text))

    def _digest(self, stage: Stage, folder: Path) -> str:
        submission = read_submission(folder, self.assignment)
        texts = [submission.sources.get(module, "") for module in stage.modules]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()
