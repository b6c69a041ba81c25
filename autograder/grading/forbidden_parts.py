"""The check for ready-made parts: which stages of a submission use one, and what a person should look at.

The syntax trees are made in a worker that loads nothing and is thrown away, because a parser can be made to crash.
"""

import json
import subprocess
from dataclasses import dataclass, field
from functools import cache

from autograder.forbidden.rules import Finding, check_modules
from autograder.grading.results import StageResult, TestResult
from autograder.grading.run_test import stage_tests
from autograder.manifest import Assignment, Stage, assignments
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import StudentFault
from autograder.sandbox.worker_processes import PlainWorkers, Workers, clean_environment, python_command
from autograder.submissions.read_submission import Submission

SECONDS = 20
WHY = 'Graded modules use the basic parts of torch, by their plain names; see "What is not allowed" in the README.'
COMMAND = "from autograder.forbidden.rules import main; main()"


@dataclass(frozen=True)
class Line:
    """A line of a submission with something in it that is forbidden."""

    module: str
    number: int
    what: str
    text: str


@dataclass(frozen=True)
class Checked:
    """What the check has found."""

    forbidden: dict[str, list[Line]] = field(default_factory=dict)  # stage -> lines, the first of which is told
    review: tuple[str, ...] = ()

    @property
    def modules(self) -> frozenset[str]:
        """The modules in which something is forbidden."""
        return frozenset(line.module for lines in self.forbidden.values() for line in lines)


def check_submission(submission: Submission, assignment: Assignment, workers: Workers) -> Checked:
    """Search the modules of a submission for ready-made parts. A check that fails is a note, never a verdict."""
    try:
        findings, marks = _found_in(submission.sources, workers)
    except (StudentFault, OSError, ValueError, TypeError, subprocess.SubprocessError) as error:
        why = error.message if isinstance(error, StudentFault) else str(error)
        return Checked(review=(f"the source check did not come to an end, look at the modules: {why[:200]}",))
    forbidden: dict[str, list[Line]] = {}
    review = []
    for module, finding in findings:
        lines = submission.sources[module].splitlines()
        text = lines[finding.line - 1].strip()[:120] if 0 < finding.line <= len(lines) else ""
        if not finding.forbidden:
            review.append(f"{module}.py, line {finding.line}: {finding.what}")
        for stage in stages_of(module, finding.scope, assignment) if finding.forbidden else ():
            forbidden.setdefault(stage.name, []).append(Line(module, finding.line, finding.what, text))
    standins = _standins(assignment.name)
    review += [f"{name} is the same as the stand-in {standins[mark]}" for name, mark in marks if mark in standins]
    return Checked(forbidden, tuple(review))


def stages_of(module: str, scope: str, assignment: Assignment) -> list[Stage]:
    """The stages that a line of a module belongs to: the one that writes this method, or all that use the module."""
    writer = assignment.stage_of(f"{module}.{scope}")
    return [writer] if writer else [stage for stage in assignment.stages if module in stage.modules]


def forbidden_stage(stage: Stage, lines: list[Line]) -> StageResult:
    """The result of a stage that uses a ready-made part: no points, and the lines."""
    first = lines[0]
    tests = [
        TestResult(
            stage=stage.name,
            name=name,
            title=case.shortDescription() or name,
            status="forbidden",
            points=0,
            max_points=stage.points[name],
            message=f"{first.module}.py, line {first.number}: {first.what}",
            details=(*(f"{line.module}.py, line {line.number}: {line.text}" for line in lines[:5]), WHY),
        )
        for name, case in stage_tests(stage).items()
    ]
    return StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tuple(tests))


def _found_in(sources: dict[str, str], workers: Workers) -> tuple[list[tuple[str, Finding]], list[tuple[str, str]]]:
    """What the search gives.

    Raises:
        StudentFault, OSError, ValueError, TypeError, SubprocessError: if it crashed or hung.
    """
    if isinstance(workers, PlainWorkers):  # a worker would import torch first
        done = subprocess.run(
            python_command(COMMAND),
            input=json.dumps(sources),
            env=clean_environment(),
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=True,
        )
        answer = json.loads(done.stdout)
    else:
        student = Student(workers, Code({}, {}, ()))
        try:
            answer = student.request({"do": "check", "sources": sources}, {}, "")
        finally:
            student.close()
    findings, marks = answer
    found = [(module, Finding(*finding)) for module, finding in findings if module in sources]
    return found, [(name, mark) for name, mark in marks]


@cache
def _standins(assignment_name: str) -> dict[str, str]:
    """The fingerprints of those functions in stand-ins that students could only have copied, with their names."""
    written = {name for stage in assignments()[assignment_name].stages for name in stage.writes}
    sources = {
        path.stem: path.read_text(encoding="utf-8") for path in assignments()[assignment_name].standins.glob("[!_]*.py")
    }
    marks = check_modules(sources)[1]
    return {mark: name for name, mark in marks if name in written or name.partition(".")[2].startswith("_")}
