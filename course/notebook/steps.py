"""Verdicts on one step of a stage: `check("mha", "attention")` shows only the tests that grade this step.

A step is a function to write in the stage, a part of a test, or a test. Stages need not declare their steps: the
manifest already specifies which tests, or parts of tests, grade which function.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from course.errors import UserError

if TYPE_CHECKING:
    from autograder.grading.results import Report, TestResult
    from autograder.manifest import Stage


def graded_parts(stage: "Stage", step: str) -> dict[str, tuple[str, ...]]:
    """Return the tests that grade a step, each with its relevant parts; ("",) for a test without parts.

    Raises:
        UserError: if the stage has no such step; the message lists the steps.
    """
    found = {}
    for test in stage.points:
        parts = tuple(stage.parts.get(test, ("",)))
        whole = step in (test, test.removeprefix("test_"))
        chosen = tuple(part for part in parts if whole or part == step or _names(step, stage.graded_by(test, part)))
        if chosen:
            found[test] = chosen
    if not found:
        functions = [".".join(written.split(".")[1:]) for written in stage.writes]
        parts_and_tests = [part for test in stage.points for part in stage.parts.get(test, (test,))]
        raise UserError(f"stage {stage.name} has no step {step!r}; it has {', '.join([*functions, *parts_and_tests])}")
    return found


def _names(step: str, function: str) -> bool:
    """Whether a step is the name of a function: its whole path or the end of its path."""
    return f".{function}".endswith(f".{step}")


def narrowed(report: "Report", stage: "Stage", step: str) -> "Report":
    """Return the report of a stage with only the tests, and the parts of tests, that grade a step."""
    chosen = graded_parts(stage, step)
    (result,) = report.stages
    tests = tuple(_narrowed(test, chosen[test.name]) for test in result.tests if test.name in chosen)
    return replace(report, stages=(replace(result, tests=tests),))


def _narrowed(test: "TestResult", names: tuple[str, ...]) -> "TestResult":
    parts = tuple(part for part in test.parts if part.name in names)
    if not parts or len(parts) == len(test.parts):
        return test
    points, most = sum(part.points for part in parts), sum(part.max_points for part in parts)
    own = replace(test, parts=parts, title=", ".join(names).capitalize(), points=points, max_points=most)
    failed = [part for part in test.parts if part.status != "passed"]
    if failed and failed[0] in parts:  # the message of the test is about this part
        return own
    wrong = next((part for part in parts if part.status != "passed"), None)
    status, message = (wrong.status, wrong.message) if wrong else ("passed", "")
    own = replace(own, status=status, message=message, details=(), short="", mistake="", hints=(), printed="")
    return replace(own, pointed=(), marks=(), fault_step="", places=())
