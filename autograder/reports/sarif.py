"""The verdict as SARIF 2.1.0: its diagnostics, for viewers in VS Code and for code scanning."""

from typing import Any

from autograder.reports.verdict import Diagnostic, Verdict

LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(verdict: Verdict) -> dict[str, Any]:
    """A SARIF log of a student's verdict: a rule for each test, and a result for each diagnostic."""
    rules = [{"id": test["id"], "shortDescription": {"text": test["title"] or test["id"]}} for test in verdict["tests"]]
    results = [result(diagnostic) for test in verdict["tests"] for diagnostic in test["diagnostics"]]
    run = {
        "tool": {"driver": {"name": "autograder", "rules": rules}},
        "invocations": [{"executionSuccessful": verdict["outcome"] != "fault"}],
        "results": results,
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def result(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as a SARIF result."""
    place = {"artifactLocation": {"uri": diagnostic["file"]}, "region": {"startLine": diagnostic["line"]}}
    return {
        "ruleId": diagnostic["code"],
        "level": LEVELS[diagnostic["severity"]],
        "message": {"text": diagnostic["message"]},
        "locations": [{"physicalLocation": place}],
    }
