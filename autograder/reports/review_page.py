"""The page on which the staff writes comments and points; it saves review.csv. Not for students."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from autograder.grading.results import PartResult, Report, TestResult
from autograder.reports.html_pages import as_json, render
from autograder.reports.review_file import Decision
from autograder.reports.short_verdict import points


def review_html(
    reports: Iterable[Report], decisions: Mapping[str, Sequence[Decision]], pages: Mapping[str, str]
) -> str:
    """The page about a class. Write it as UTF-8, beside review.csv.

    Args:
        reports: one a submission, with what the staff decided. They are gone through once.
        decisions: the rows of review.csv by student.
        pages: file names in the folder `staff` beside the page, by student.
    """
    title, students = "Class", list[dict[str, Any]]()
    for report in reports:
        title = report.title
        graded: dict[str, TestResult | PartResult] = {}
        for test in report.tests:
            graded[test.name] = test
            graded |= {f"{test.name}.{part.name}": part for part in test.parts}
        tests = {
            name: {"points": points(one.points), "most": one.max_points, "status": one.status}
            for name, one in graded.items()
        }
        students.append(
            {
                "name": report.submission,
                "page": "staff/" + quote(pages[report.submission], safe=""),
                "notes": list(report.review) + ["the grader failed"] * report.faulty,
                "tests": tests,
            }
        )
    rows = [
        {
            "student": one.student,
            "test": one.graded,
            "points": "" if one.points is None else f"{one.points:f}",
            "reason": one.reason,
            "who": one.who,
            "when": one.when,
        }
        for several in decisions.values()
        for one in several
    ]
    return render("review.html", script="review.js", title=title, data=as_json({"students": students, "rows": rows}))
