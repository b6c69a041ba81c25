"""The verdict as a table in Markdown: `python grade.py --summary FILE`, for the summary of a job on GitHub."""

from pathlib import Path

from autograder.grading.results import Report
from autograder.reports.console import clean
from autograder.reports.one_cause import told_once
from autograder.reports.short_verdict import points
from autograder.reports.student_feedback import for_student
from course.errors import UserError

MARKS = {"passed": "✅", "not started": "⬜"}


def summary(report: Report) -> str:
    """The stages with their points, the tests, and what is wrong with each that did not pass."""
    report = for_student(report)
    lines = [
        f"## {_plain(report.title)}: {points(report.points)} of {points(report.max_points)} points",
        "",
        *("| test | verdict | points |", "|---|---|---|"),
    ]
    for stage in map(told_once, report.stages):
        extra = " (extra credit)" if stage.extra_credit and "extra" not in stage.title else ""
        score = f"{points(stage.points)} of {points(stage.max_points)}"
        lines.append(f"| **{stage.number}. {_plain(stage.title)}{extra}** | | **{score}** |")
        for test in stage.tests:
            said = f": {_plain(test.message)}" if test.message and test.status != "not started" else ""
            hint = f"<br>{_plain(test.hints[0])}" if test.hints else ""
            verdict = f"{MARKS.get(test.status, '❌')} {test.status}{said}{hint}"
            lines.append(f"| {_plain(test.title)} | {verdict} | {points(test.points)} of {points(test.max_points)} |")
    if report.faulty:
        lines += ["", "The grader itself failed in at least one test; this says nothing about your code."]
    return "\n".join([*lines, "", "More: `python grade.py --verbose`, or `check(...)` in the notebooks.", ""])


def _plain(text: str) -> str:
    """Text from anywhere in a cell of a table: one line, and nothing that Markdown or HTML takes for its own."""
    shown = " ".join(clean(text).split())[:400]
    for char, instead in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        shown = shown.replace(char, instead)
    return "".join(f"\\{char}" if char in "\\`*_{}[]()#+!|~$@" else char for char in shown)


def write_summary(report: Report, path: Path) -> None:
    """Add the table to the end of a file, as GitHub wants it.

    Raises:
        UserError: if it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(summary(report))
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
