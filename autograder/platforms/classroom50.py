"""The verdict as Classroom 50's result.json (classroom50/result/v1).

Scores are whole numbers, so points are rounded down; extra credit is part of the maximum, which a score cannot exceed.
"""

import math
from collections.abc import Mapping
from typing import Any

from autograder.reports.verdict import Verdict


def result(found: Verdict, environment: Mapping[str, str], now: str) -> dict[str, Any]:
    """The content of result.json. Only graded submissions get this file; for others, the runner reports an error.

    Args:
        environment: the environment variables of the Classroom 50 runner.
        now: the time in UTC, in the form 2026-06-01T14:32:01Z.

    Raises:
        KeyError: if the environment is not the runner's.
    """
    tests = [
        {
            "test-name": f"{test['number']} {test['title']}",
            "passed": test["points"] == test["max_points"],
            "score": math.floor(test["points"]),
            "max-score": math.ceil(test["max_points"]),
            "id": test["id"],
            "message": f"{test['status']}: {test['message']}" if test["message"] else test["status"],
            "lines": [f"{place['file']}:{place['line']}" for place in test["diagnostics"]],
        }
        for test in found["tests"]
    ]
    return {
        "schema": "classroom50/result/v1",
        "classroom": environment["CLASSROOM"],
        "assignment": environment["ASSIGNMENT"],
        "assignment_type": environment.get("ASSIGNMENT_TYPE") or "individual",
        "owner": environment.get("OWNER") or environment["USERNAME"],
        "submission": environment["SUBMISSION_TAG"],
        "commit": environment["COMMIT_URL"],
        "release": environment["RELEASE_URL"],
        "review": environment.get("REVIEW_URL") or environment["COMMIT_URL"],
        "datetime": now,
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }
