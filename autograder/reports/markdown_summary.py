"""The verdict as a Markdown table: `python grade.py --summary FILE`, for the summary of a GitHub job."""

from pathlib import Path

from autograder.reports.short_verdict import points
from autograder.reports.verdict import Test, Verdict, score_line
from course.errors import UserError

MARKS = {"passed": "✅", "not started": "⬜"}
MOST = 250_000  # characters; GitHub refuses a summary of more than 1 MiB


def summary(verdict: Verdict) -> str:
    """The stages with their points, the tests, and an explanation for each test that did not pass."""
    lines = [
        f"## {plain(verdict['title'])}: {score_line(verdict)}",
        "",
        *("| test | verdict | points |", "|---|---|---|"),
    ]
    tests = {test["id"]: test for test in verdict["tests"]}
    mistakes: dict[str, str] = {}  # known mistake -> the title of the first test with it
    for stage in verdict["stages"]:
        extra = " (extra credit)" if stage["extra_credit"] and "extra" not in stage["title"] else ""
        score = f"{points(stage['points'])} of {points(stage['max_points'])}"
        lines.append(f"| **{stage['number']}. {plain(stage['title'])}{extra}** | | **{score}** |")
        for test in verdict["tests"]:
            if test["stage"] == stage["name"]:
                score = f"{points(test['points'])} of {points(test['max_points'])}"
                lines.append(f"| {plain(test['title'])} | {_cell(test, tests, mistakes)} | {score} |")
    if verdict["outcome"] == "fault":
        lines += ["", "The grader itself failed in at least one test; this says nothing about your code."]
    return "\n".join([*lines, "", "More: `python grade.py --verbose`, or `check(...)` in the notebooks.", ""])


def _cell(test: Test, tests: dict[str, Test], mistakes: dict[str, str]) -> str:
    verdict = f"{MARKS.get(test['status'], '❌')} {test['status']}"
    if test["same_as"] and test["status"] != "not started":
        return f"{verdict}: same cause as in “{plain(tests[test['same_as']]['title'].rstrip('.'))}”"
    message = f": {plain(test['message'])}" if test["message"] and test["status"] != "not started" else ""
    places = dict.fromkeys(f"`{mark['file']}:{mark['line']}`" for mark in test["diagnostics"][:3])
    where = f"<br>{', '.join(places)}" if places and test["status"] not in ("not started", "no file") else ""
    first = mistakes.setdefault(test["mistake"], test["title"]) if test["mistake"] else test["title"]
    hint = f"<br>{plain(test['hints'][0])}" if test["hints"] and first == test["title"] else ""
    again = f"<br>Same mistake as in “{plain(first.rstrip('.'))}”" if first != test["title"] else ""
    return f"{verdict}{message}{where}{hint}{again}"


def plain(text: str) -> str:
    """Any string as a table cell: one line, with the special characters of Markdown and HTML escaped."""
    shown = " ".join(text.split())[:400]
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        shown = shown.replace(char, entity)
    return "".join(f"\\{char}" if char in "\\`*_{}[]()#+!|~$@" else char for char in shown)


def write_summary(verdict: Verdict, path: Path) -> None:
    """Append the table to a file, as GitHub requires.

    Raises:
        UserError: if it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(summary(verdict)[:MOST])
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
