"""`python -m autograder.platforms.dodona v.json mha.py`: the verdict as the feedback of a Dodona judge.

Dodona has no points: it only accepts or rejects a submission, so messages report the points. A grader failure is
reported as "internal error". Students hand in one file, so annotations name no file; diagnostics for other files
stay in the test's text.
"""

import json
import sys
from pathlib import Path
from typing import Any

from autograder.reports.short_verdict import points
from autograder.reports.student_feedback import FAULT
from autograder.reports.verdict import VISIBLE, Stage, Test, Verdict
from course.errors import UserError, run_command

SUMMARY, MOST = 255, 20_000  # characters of the description and of a message; the limit for all output is 10 MiB
STATUSES = {"timed out": "time limit exceeded", "error": "runtime error"}  # ours -> Dodona's; all others become "wrong"


def feedback(found: Verdict | None, file: str) -> dict[str, Any]:
    """The judge's output, which exists even without a verdict. `file` is the grader's name for the student's file."""
    if found is None or found["outcome"] == "fault":
        return _without_points("internal error", found["summary"] if found else FAULT)
    if found["audience"] != "student":
        raise UserError("Dodona would show this verdict for staff to students: export it without --audience staff")
    if found["outcome"] == "nothing handed in":
        missing = dict.fromkeys(test["message"] for test in found["tests"] if test["status"] == "no file")
        return _without_points("compilation error", "This is not a module of the assignment.", *missing)
    shown = found["release"] == VISIBLE  # if not, the points are withheld, and only visible results decide
    tests = [test for test in found["tests"] if test["release"] == VISIBLE]
    complete = found["complete"] if found["max_points"] else found["extra_points"] >= found["max_extra_points"]
    accepted = complete if shown else all(test["status"] == "passed" for test in tests)
    worse = [status for ours, status in STATUSES.items() if any(test["status"] == ours for test in tests)]
    places = [place for test in tests for place in test["diagnostics"] if place["file"] == file]
    return {
        "accepted": accepted,
        "status": "correct" if accepted else [*worse, "wrong"][0],
        "description": found["summary"][:SUMMARY] if shown else "The points come later.",
        "messages": [_text(comment) for comment in found["comments"] if shown],
        "groups": [_tab(stage, tests, file, shown) for stage in found["stages"]],
        "annotations": [
            {"row": place["line"] - 1, "text": place["message"][:MOST], "type": place["severity"]} for place in places
        ],
    }


def _without_points(status: str, summary: str, *more: str) -> dict[str, Any]:
    messages = [_text(text) for text in (summary, *more)]
    return {"accepted": False, "status": status, "description": summary[:SUMMARY], "messages": messages}


def _text(text: str, kind: str = "plain") -> dict[str, str]:
    return {"format": kind, "description": text[:MOST]}


def _titled(row: Stage | Test, shown: bool) -> str:
    score = f" ({points(row['points'])} of {points(row['max_points'])})" if shown else ""
    return f"{row['number']} {row['title'].rstrip('.')}{score}"


def _tab(stage: Stage, tests: list[Test], file: str, shown: bool) -> dict[str, Any]:
    contexts = [_context(test, tests, file, shown) for test in tests if test["stage"] == stage["name"]]
    return {
        "description": _titled(stage, shown),
        "badgeCount": sum(not context["accepted"] for context in contexts),
        "messages": [_text(comment) for comment in stage.get("comments", []) if shown],
        "groups": contexts,
    }


def _context(test: Test, tests: list[Test], file: str, shown: bool) -> dict[str, Any]:
    first = next((other["number"] for other in tests if other["id"] == test["same_as"]), "")
    told = [f"the same cause as {first}"] if first else [test["message"], *test["hints"]]
    told += [f"{place['file']}:{place['line']}" for place in test["diagnostics"] if place["file"] != file]
    code = "" if first else test["details"]
    parts = [(part, f"{part['name']}: {part['message'] or part['status']}") for part in test["parts"] if shown]
    return {
        "accepted": test["status"] == "passed",
        "description": _text(f"{_titled(test, shown)}: {test['status']}"),
        "messages": [_text(text, kind) for text, kind in [*((text, "plain") for text in told), (code, "code")] if text],
        "groups": [{"accepted": part["status"] == "passed", "description": _text(text)} for part, text in parts],
    }


def main() -> int:
    """Print the feedback, and succeed even if the grader failed: otherwise, Dodona shows none of the output."""
    path, file = sys.argv[1:]
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    print(json.dumps(feedback(found, file)))
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
