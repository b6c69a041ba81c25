"""The verdict as SARIF 2.1.0: its diagnostics, for the viewers of VS Code and of code scanning."""

from typing import Any

from autograder.reports.verdict import Diagnostic, Verdict

LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(found: Verdict) -> dict[str, Any]:
    """A SARIF log of a student's verdict: a rule for each test, a result for each diagnostic."""
    rules = [{"id": test["id"], "shortDescription": {"text": test["title"] or test["id"]}} for test in found["tests"]]
    results = [result(one) for test in found["tests"] for one in test["diagnostics"]]
    run = {
        "tool": {"driver": {"name": "autograder", "rules": rules}},
        "invocations": [{"executionSuccessful": found["outcome"] != "fault"}],
        "results": results,
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def result(one: Diagnostic) -> dict[str, Any]:
    """One diagnostic as a result."""
    place = {"artifactLocation": {"uri": one["file"]}, "region": {"startLine": one["line"]}}
    return {
        "ruleId": one["code"],
        "level": LEVELS[one["severity"]],
        "message": {"text": one["message"]},
        "locations": [{"physicalLocation": place}],
    }
