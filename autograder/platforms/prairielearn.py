"""The verdict as PrairieLearn's results.json (external grading).

PrairieLearn expects a score from 0 to 1, so required stages and extra credit are separate questions. A submission
that was not graded is not "gradable": it costs no attempt and is not scored as 0.
"""

from typing import Any

from autograder.reports.verdict import Test, Verdict

MOST = 20_000  # characters per test; the file may be up to 1 MiB


def results(found: Verdict) -> dict[str, Any]:
    """The object to write to /grade/results/results.json."""
    if found["outcome"] == "fault":
        return {"gradable": False, "format_errors": [found["summary"]]}
    if found["outcome"] == "nothing handed in":
        missing = dict.fromkeys(test["message"] for test in found["tests"] if test["status"] == "no file")
        return {"gradable": False, "format_errors": list(missing)}
    graded, most = found["points"], found["max_points"]
    if not most:  # a question with extra credit only
        graded, most = found["extra_points"], found["max_extra_points"]
    return {
        "gradable": True,
        "score": max(0.0, min(1.0, graded / most)),
        "message": found["summary"],
        "tests": [_test(test) for test in found["tests"]],
    }


def _test(test: Test) -> dict[str, Any]:
    message = f"{test['status']}: {test['message']}" if test["message"] else test["status"]
    lines = [f"{place['file']}:{place['line']}" for place in test["diagnostics"]]
    output = "\n".join([*lines, test["details"], *test["hints"]]).strip()[:MOST]
    return {
        "name": test["title"],
        "points": test["points"],
        "max_points": test["max_points"],
        "message": message[:MOST],
        **({"output": output} if output else {}),
    }
