"""The report as Gradescope's results.json."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autograder.grading.results import Report, TestResult
from autograder.reports.console import UNCONFINED, clean
from autograder.reports.short_verdict import part_line, points
from autograder.reports.student_feedback import part_for_student as for_student
from course.errors import UserError

FAULT = (
    "The grader itself failed, at least in part. The score says nothing about the submission, which will have to be "
    "graded again; please tell your instructor."
)


# When students see what hidden tests have decided, in Gradescope's words.
VISIBLE = "visible"
WHEN = (VISIBLE, "after_due_date", "after_published")


def results(report: Report, hidden_results: str = VISIBLE) -> dict[str, Any]:
    """Gradescope's object: the score, and every test, whatever became of it.

    Args:
        hidden_results: when students see the tests that the hidden ones decide, one of WHEN. These are all that pass
            the visible ones: whether a test is shown must not tell what became of it. Until then they see no score.
    """
    notes = [UNCONFINED] * (report.confined is False) + [FAULT if report.faulty else summary(report, hidden_results)]
    numbered = [(stage, place, test) for stage in report.stages for place, test in enumerate(stage.tests, start=1)]
    return {
        "score": report.points,
        "output": "\n".join(notes),
        "stdout_visibility": "hidden",
        # Kept by Gradescope for instructors; the same seed repeats the hidden tests.
        "extra_data": {"hidden_seed": report.hidden_seed, "confined": report.confined},
        "tests": [
            {
                "number": f"{stage.number}.{place}",
                "name": clean(test.title),
                "score": test.points,
                "max_score": test.max_points,
                "status": "passed" if test.status == "passed" else "failed",
                "output": output(test),
                **({"visibility": hidden_results} if hidden_results != VISIBLE and decided_by_hidden(test) else {}),
                "extra_data": {
                    "stage": stage.name,
                    "test": test.name,
                    "status": test.status,
                    "extra_credit": stage.extra_credit,
                    # For students, so of a hidden test there is none.
                    "lines": [asdict(mark) for mark in test.marks if not test.hidden],
                },
            }
            for stage, place, test in numbered
        ],
    }


def decided_by_hidden(test: TestResult) -> bool:
    """Whether the visible tests leave open what becomes of a test."""
    return test.status == "passed" or test.hidden


def summary(report: Report, hidden_results: str) -> str:
    """What is said above all tests: how the submission stands, stage by stage."""
    if hidden_results != VISIBLE:
        tests = [test for stage in report.stages for test in stage.tests]
        settled = sum(not decided_by_hidden(test) for test in tests)
        when = "after the due date" if hidden_results == "after_due_date" else "when the grades are published"
        said = f"{settled} of {len(tests)} tests do not pass the visible tests, see below."
        return f"{said} The others, and your points, {when}."
    stages = [
        f"{stage.number}. {stage.title}: {points(stage.points)} of {points(stage.max_points)}"
        + (" (extra credit)" if stage.extra_credit else "")
        for stage in report.stages
    ]
    wanting = "Not all required points yet: the tests below say what is wrong."
    return clean("\n".join(["All required points." if report.complete else wanting, *stages]))


def output(test: TestResult) -> str:
    """What the student reads about a test; of a hidden test neither inputs nor values."""
    parts = [part_line(for_student(part)) for part in test.parts]
    if test.hidden and test.status != "passed":
        verdict = f"{test.status}: the visible test passed, a hidden one did not"
        return clean("\n".join([verdict, *parts, *test.hints]))
    if test.status == "fault":  # what failed is for the instructor, who finds it on the console
        return clean("The grader itself failed; this says nothing about your code.")
    details = () if test.status in ("not started", "passed") else test.details
    verdict = f"{test.status}: {test.message}" if test.message else test.status
    return clean("\n".join([verdict, *parts, *test.pointed, *details, *test.hints]))


def write_results(report: Report, path: Path, hidden_results: str = VISIBLE) -> None:
    """Write results.json; the file appears whole or not at all.

    Raises:
        UserError: if it cannot be written.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        found = results(report, hidden_results)
        partial.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
