"""verdict/1: the outcome of a submission as plain JSON, from which every platform's format is derived.

docs/verdict.md describes it, and docs/verdict-1.schema.json defines it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, TypedDict

from autograder.grading.results import Report, StageResult, TestResult
from autograder.manifest import Assignment
from autograder.reports.console import clean
from autograder.reports.one_cause import cause_of, one_certainty
from autograder.reports.short_verdict import points
from autograder.reports.student_feedback import FAULT, test_for_student
from course.errors import UserError

SCHEMA = "verdict/1"
VISIBLE = "visible"
RELEASES = (VISIBLE, "after_due_date", "after_published")  # when students see an outcome, in Gradescope's terms
Audience = Literal["student", "staff"]


class Diagnostic(TypedDict):
    """A message about a line of a submitted file."""

    file: str
    line: int
    severity: Literal["error", "warning", "info"]
    message: str  # one line
    code: str  # the test's id


class Part(TypedDict):
    """A part of a test that has its own points."""

    name: str
    status: str
    points: float
    max_points: float
    message: str
    hidden: bool


class Test(TypedDict):
    """A test and its outcome."""

    id: str
    number: str
    stage: str
    title: str
    status: str
    points: float
    max_points: float
    extra_credit: bool
    hidden: bool  # whether a hidden test decided the outcome
    release: str
    message: str
    details: str
    hints: list[str]
    mistake: str
    same_as: str
    seconds: float
    parts: list[Part]
    lines: list[dict[str, Any]]
    diagnostics: list[Diagnostic]


class Stage(TypedDict):
    """A stage and its points."""

    name: str
    number: int
    title: str
    points: float
    max_points: float
    extra_credit: bool
    comments: list[str]  # from the staff


class _Required(TypedDict):
    schema: str
    assignment: str
    title: str
    audience: Audience
    outcome: Literal["graded", "fault", "nothing handed in"]
    complete: bool
    summary: str
    release: str
    points: float
    max_points: float
    extra_points: float
    max_extra_points: float
    engine: dict[str, Any]
    submission: dict[str, Any]
    comments: list[str]
    stages: list[Stage]
    tests: list[Test]


class Verdict(_Required, total=False):
    """The outcome of a submission. Points include required stages only; extra credit is separate."""

    students: list[str]
    end_to_end: dict[str, str]
    review: list[str]  # for staff only


def verdict(
    report: Report,
    assignment: Assignment,
    audience: Audience = "student",
    release: str = VISIBLE,
    sources: Mapping[str, str] | None = None,
) -> Verdict:
    """The verdict on a submission.

    Args:
        audience: a verdict for students leaves out the inputs, values, lines, times and seed of hidden tests.
        release: when students see their points, and the tests whose outcome depends on hidden tests; one of RELEASES.
        sources: the submitted modules. With them, a failed test without a known line points to the graded function.
    """
    if audience == "student" and report.hidden_seed is not None:
        report = _without_times(report)
    tests = [
        test
        for stage in report.stages
        for test in _tests_of(stage, assignment, audience, release, sources or {})
    ]  # fmt: skip
    stages = [_stage(stage) for stage in report.stages]
    statuses = {test["status"] for test in tests}
    nothing = "no file" in statuses and statuses <= {"no file", "blocked"}
    required, extra = ([stage for stage in stages if stage["extra_credit"] == is_extra] for is_extra in (False, True))
    outcome: Verdict = {
        "schema": SCHEMA,
        "assignment": assignment.name,
        "title": clean(report.title),
        "audience": audience,
        "outcome": "fault" if report.faulty else "nothing handed in" if nothing else "graded",
        "complete": report.complete,
        "summary": "",
        "release": release,
        "points": sum(stage["points"] for stage in required),
        "max_points": sum(stage["max_points"] for stage in required),
        "extra_points": sum(stage["points"] for stage in extra),
        "max_extra_points": sum(stage["max_points"] for stage in extra),
        "engine": {"confined": report.confined, "seconds": report.seconds},
        "submission": {"name": clean(report.submission), "files": [clean(line) for line in report.files]},
        "comments": [clean(comment) for comment in report.comments],
        "stages": stages,
        "tests": tests,
    }
    outcome["summary"] = FAULT if report.faulty else score_line(outcome)
    if (whole := report.end_to_end) is not None:
        shown = test_for_student(whole) if audience == "student" else whole
        outcome["end_to_end"] = {name: clean(getattr(shown, name)) for name in ("status", "title", "message")}
    if audience == "staff":
        outcome["review"] = [clean(note) for note in report.review]
        if report.hidden_seed is not None:
            outcome["engine"]["seed"] = str(report.hidden_seed)
    return outcome


def _without_times(report: Report) -> Report:
    """The report with all times set to 0, since code could reveal hidden inputs through its running time."""
    stages = (
        replace(stage, tests=tuple(replace(test, seconds=0.0) for test in stage.tests)) for stage in report.stages
    )
    return replace(report, stages=tuple(stages), seconds=0.0)


def score_line(verdict: Verdict) -> str:
    """The points in words: "87 of 100 points, and 10 of 10 extra"."""
    extra = f"{points(verdict['extra_points'])} of {points(verdict['max_extra_points'])} extra"
    required = f"{points(verdict['points'])} of {points(verdict['max_points'])} points"
    if not verdict["max_points"]:
        return f"{extra} points"
    return f"{required}, and {extra}" if verdict["max_extra_points"] else required


def _stage(stage: StageResult) -> Stage:
    return {
        "name": stage.name,
        "number": stage.number,
        "title": clean(stage.title),
        "points": stage.points,
        "max_points": stage.max_points,
        "extra_credit": stage.extra_credit,
        "comments": [clean(comment) for comment in stage.comments],
    }


def _tests_of(
    stage: StageResult, assignment: Assignment, audience: Audience, release: str, sources: Mapping[str, str]
) -> list[Test]:
    causes: dict[tuple[str, ...], str] = {}  # cause -> the id of the first test that it stops
    shown = [test_for_student(test) if audience == "student" else test for test in stage.tests]
    return [
        _test(stage, place, test, causes, release, _diagnostics(test, assignment, sources))
        for place, test in enumerate(one_certainty(replace(stage, tests=tuple(shown))).tests, start=1)
    ]


def _test(
    stage: StageResult,
    place: int,
    test: TestResult,
    causes: dict[tuple[str, ...], str],
    release: str,
    diagnostics: list[Diagnostic],
) -> Test:
    name = f"{stage.name}.{test.name}"
    cause = cause_of(test)
    first = causes.setdefault(cause, name) if cause else name
    details = () if test.status in ("not started", "passed") else test.details
    reviewed = (f"Staff: {test.reviewed}",) if test.reviewed else ()
    return {
        "id": name,
        "number": f"{stage.number}.{place}",
        "stage": stage.name,
        "title": clean(test.title),
        "status": test.status,
        "points": test.points,
        "max_points": test.max_points,
        "extra_credit": stage.extra_credit,
        "hidden": test.hidden,
        # Passing the visible test leaves the outcome of the hidden one open, so both are released together.
        "release": release if test.hidden or test.status == "passed" else VISIBLE,
        "message": clean(test.message),
        "details": clean("\n".join([*reviewed, *test.pointed, *details])),
        "hints": [clean(hint) for hint in test.hints],
        "mistake": test.mistake,
        "same_as": first if first != name else "",
        "seconds": test.seconds,
        "parts": [{**asdict(part), "message": clean(part.message)} for part in test.parts],  # type: ignore[typeddict-item]
        "lines": [asdict(mark) for mark in test.marks],
        "diagnostics": diagnostics,
    }


def _diagnostics(test: TestResult, assignment: Assignment, sources: Mapping[str, str]) -> list[Diagnostic]:
    """The lines that a test is about: the wrong lines, the line of an exception, or the graded function."""
    if test.status in ("fault", "blocked") or (test.status == "passed" and not test.message):
        return []
    wrong = [(mark.file, mark.line) for mark in test.marks if mark.state == "wrong"]
    places = wrong or list(test.places) or ([] if test.status == "passed" else _function(test, assignment, sources))
    severity = {"passed": "warning", "not started": "info"}.get(test.status, "error")
    reason = (test.message or test.title).rstrip(".")
    reason = f"One of {len(wrong)} lines is wrong: {reason}" if len(wrong) > 1 else reason
    message = clean(" ".join(". ".join([reason, *test.hints[:1]]).split()))
    code = f"{test.stage}.{test.name}"
    return [
        {"file": file, "line": line, "severity": severity, "message": message, "code": code}  # type: ignore[typeddict-item]
        for file, line in dict.fromkeys(places)
        if re.fullmatch(r"\w+\.py", file) and line > 0
    ]


def _function(test: TestResult, assignment: Assignment, sources: Mapping[str, str]) -> list[tuple[str, int]]:
    """The first line of the function that a test grades, or line 1 of its module if the function is missing."""
    stage = next((stage for stage in assignment.stages if stage.name == test.stage), None)
    if stage is None or not sources:
        return []
    part = next((part.name for part in test.parts if part.status != "passed"), "")
    module, *names = (stage.graded_by(test.name, part) or stage.writes[0]).split(".")
    line = 1
    rows = sources.get(module, "").splitlines()
    for name in names:  # a pattern is precise enough here, and no submitted code can crash it
        pattern = re.compile(rf"\s*(class|def|async def)\s+{re.escape(name)}\b")
        line = next((place for place, row in enumerate(rows[line - 1 :], line) if pattern.match(row)), line)
    return [(f"{module}.py", line)]


def fault_report(assignment: Assignment) -> Report:
    """The report to use if the grader failed before grading anything. It lists every test with 0 points."""
    from autograder.grading.run_test import stage_tests

    stages = []
    for stage in assignment.stages:
        titles = {name: case.shortDescription() or name for name, case in stage_tests(stage).items()}
        tests = (
            TestResult(stage.name, name, titles[name], "fault", points=0, max_points=most)
            for name, most in stage.points.items()
        )
        stages.append(StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tuple(tests)))
    return Report(assignment.title, "", tuple(stages), seconds=0)


def as_text(value: Any) -> str:
    """An object as a JSON string for a file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_text(text: str, path: Path) -> None:
    """Write a file so that it appears completely or not at all.

    Raises:
        UserError: if it cannot be written.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
