"""The report as Gradescope's results.json."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autograder.grading.results import Report, TestResult
from autograder.reports.console import UNCONFINED, clean, part_line
from autograder.reports.student_feedback import part_for_student as for_student
from course.errors import UserError

FAULT = (
    "The grader itself failed, at least in part. The score says nothing about the submission, which will have to be "
    "graded again; please tell your instructor."
)


def results(report: Report) -> dict[str, Any]:
    """Gradescope's object: the score, and every test, whatever became of it."""
    notes = [UNCONFINED] * (report.confined is False) + [FAULT] * report.faulty
    numbered = [(stage, place, test) for stage in report.stages for place, test in enumerate(stage.tests, start=1)]
    return {
        "score": report.points,
        "execution_time": round(report.seconds, 2),
        **({"output": "\n".join(notes)} if notes else {}),
        "stdout_visibility": "hidden",
        # Kept by Gradescope for instructors; the same seed repeats the hidden tests.
        "extra_data": {"hidden_seed": report.hidden_seed, "confined": report.confined},
        "tests": [
            {
                "number": f"{stage.number}.{place}",
                "name": test.name,
                "score": test.points,
                "max_score": test.max_points,
                "status": "passed" if test.status == "passed" else "failed",
                "output": output(test),
                "extra_data": {
                    "stage": stage.name,
                    "status": test.status,
                    "extra_credit": stage.extra_credit,
                    # For students, so of a hidden test there is none.
                    "lines": [asdict(mark) for mark in test.marks if not test.hidden],
                },
            }
            for stage, place, test in numbered
        ],
    }


def output(test: TestResult) -> str:
    """What the student reads about a test; of a hidden test neither inputs nor values."""
    parts = [part_line(for_student(part)) for part in test.parts]
    if test.hidden and test.status != "passed":
        verdict = f"{test.status}: the visible test passed, a hidden one did not"
        return clean("\n".join([test.title, verdict, *parts, *test.hints]))
    if test.status == "fault":  # what failed is for the instructor, who finds it on the console
        return clean(f"{test.title}\nThe grader itself failed; this says nothing about your code.")
    details = () if test.status in ("not started", "passed") else test.details
    verdict = f"{test.status}: {test.message}" if test.message else test.status
    return clean("\n".join([test.title, verdict, *parts, *test.pointed, *details, *test.hints]))


def write_results(report: Report, path: Path) -> None:
    """Write results.json; the file appears whole or not at all.

    Raises:
        UserError: if it cannot be written.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(json.dumps(results(report), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
