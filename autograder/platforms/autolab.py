"""The verdict as the output of an Autolab autograder: text, then a line of formatted feedback, then a line of scores.

Autolab quotes every word before a colon in the last line, so problems are named after stages. There is no way to tell
Autolab that the grader failed: without a line of scores, a first submission gets 0 until the staff regrades it.
"""

import json

from autograder.reports.verdict import Test, Verdict


def output(found: Verdict) -> str:
    """The text that the autograder prints; the last two lines are JSON unless the grader failed."""
    if found["outcome"] == "fault":
        return f"{found['summary']}\nThe score shown is not a grade: ask your instructor for a regrade.\n"
    stages = [stage["name"] for stage in found["stages"]]
    feedback = {
        "_presentation": "semantic",
        "stages": stages,
        **{
            name: {
                _key(test): {"passed": test["status"] == "passed", "hint": _hint(test)}
                for test in found["tests"]
                if test["stage"] == name
            }
            for name in stages
        },
    }
    scores = {"scores": {stage["name"]: stage["points"] for stage in found["stages"]}}
    return f"{found['summary']}\n{json.dumps(feedback)}\n{json.dumps(scores)}\n"


def _key(test: Test) -> str:
    return f"{test['number']} {test['title'].rstrip('.')}".replace(":", ",")


def _hint(test: Test) -> str:
    if test["status"] == "passed" and not test["message"]:
        return ""
    places = [f"{place['file']}:{place['line']}" for place in test["diagnostics"][:3]]
    return " ".join([f"{test['status']}:", test["message"], *places, *test["hints"]])
