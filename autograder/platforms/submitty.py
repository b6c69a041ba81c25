"""Report one test of a verdict to Submitty, as a custom validator. This separate script needs only Python.

Submitty runs `python3 submitty.py TEST_ID` for each test case and reads a number from 0 to 1. Submitty has no status
for a grader failure: the test case gets 0 points until the staff regrades it, and its message explains this.
"""

import json
import sys
from pathlib import Path
from typing import Any

FAULT = "The grader itself failed. This is not a grade: ask your instructor for a regrade."


def validation(found: "dict[str, Any] | None", test_id: str) -> "dict[str, Any]":
    """The result of a test case.

    Args:
        found: the verdict for the student; None if the grader has not written one.
    """
    if found is None or found["outcome"] == "fault":
        return {"status": "success", "data": {"score": 0.0, "message": FAULT, "status": "failure"}}
    test = next(test for test in found["tests"] if test["id"] == test_id)
    passed = test["points"] == test["max_points"]
    places = [f"{place['file']}:{place['line']}" for place in test["diagnostics"]]
    said = [f"{test['status']}: {test['message']}" if test["message"] else test["status"]]
    lines = [line for line in [*said, *places, test["details"], *test["hints"]] if line]
    kinds = ["success" if passed else "failure", *["information"] * len(lines)]
    messages = [{"message": line, "status": kind} for line, kind in zip(lines, kinds)]  # noqa: B905 (Python 3.8)
    score = test["points"] / test["max_points"] if test["max_points"] else 1.0
    return {"status": "success", "data": {"score": score, "message": messages, "status": kinds[0]}}


def main() -> None:
    """Read the verdict left by the first test case, and write the result that Submitty reads."""
    try:
        asked = json.loads(Path("custom_validator_input.json").read_text(encoding="utf-8"))
        path = Path(asked.get("testcase_prefix", ""), "verdict.json")
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    text = json.dumps(validation(found, sys.argv[1]), indent=2)
    Path("validation_results.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
