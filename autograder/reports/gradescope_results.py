"""The verdict as Gradescope's results.json."""

from typing import Any

from autograder.grading.results import PartResult
from autograder.reports.console import UNCONFINED
from autograder.reports.short_verdict import part_line, points
from autograder.reports.verdict import VISIBLE, Test, Verdict

FAULT = (
    "The grader itself failed, at least in part. The score says nothing about the submission, which will have to be "
    "graded again; please tell your instructor."
)


def results(verdict: Verdict, seed: int | None = None) -> dict[str, Any]:
    """The object for Gradescope: the score and every test, whatever its outcome.

    If the verdict is released later, tests whose visible version passes stay hidden until then, since their
    hidden version decides the outcome. Showing only some of these tests would reveal their outcome. Until the release,
    students see no score.

    Args:
        verdict: a student's verdict.
        seed: the seed of the hidden tests, kept by Gradescope for instructors; the same seed repeats them.
    """
    confined = verdict["engine"]["confined"]
    notes = [UNCONFINED] * (confined is False) + [FAULT if verdict["outcome"] == "fault" else summary(verdict)]
    return {
        "score": sum(stage["points"] for stage in verdict["stages"]),
        "output": "\n".join(notes),
        "stdout_visibility": "hidden",
        "extra_data": {"hidden_seed": seed, "confined": confined},
        "tests": [
            {
                "number": test["number"],
                "name": test["title"],
                "score": test["points"],
                "max_score": test["max_points"],
                "status": "passed" if test["status"] == "passed" else "failed",
                "output": output(test),
                **({"visibility": test["release"]} if test["release"] != VISIBLE else {}),
                "extra_data": {
                    "stage": test["stage"],
                    "test": test["id"].removeprefix(f"{test['stage']}."),
                    "status": test["status"],
                    "extra_credit": test["extra_credit"],
                    "lines": test["lines"],
                },
            }
            for test in verdict["tests"]
        ],
    }


def summary(verdict: Verdict) -> str:
    """The text above the tests: the points of each stage."""
    if (release := verdict["release"]) != VISIBLE:
        settled = sum(test["release"] == VISIBLE for test in verdict["tests"])
        when = "after the due date" if release == "after_due_date" else "when the grades are published"
        settled_tests = f"{settled} of {len(verdict['tests'])} tests do not pass in their visible version; see below."
        return f"{settled_tests} You will see the others, and your points, {when}."
    stages = [
        f"{stage['number']}. {stage['title']}: {points(stage['points'])} of {points(stage['max_points'])}"
        + (" (extra credit)" if stage["extra_credit"] else "")
        for stage in verdict["stages"]
    ]
    wanting = "Not all required points yet: the tests below say what is wrong."
    return "\n".join(["All required points." if verdict["complete"] else wanting, *stages])


def output(test: Test) -> str:
    """The text about a test for the student; for a hidden test, it leaves out inputs and values."""
    if test["status"] == "fault":  # the reason is for the instructor, who finds it on the console
        return "The grader itself failed; this says nothing about your code."
    parts = [part_line(PartResult(**part)) for part in test["parts"]]
    if test["hidden"] and test["status"] != "passed":
        verdict = f"{test['status']}: the visible test passed, a hidden one did not"
        return "\n".join([verdict, *parts, *test["hints"]])
    verdict = f"{test['status']}: {test['message']}" if test["message"] else test["status"]
    details = [test["details"]] if test["details"] else []
    return "\n".join([verdict, *parts, *details, *test["hints"]])
