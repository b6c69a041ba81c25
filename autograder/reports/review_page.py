"""The page on which the staff writes comments and points. Not for students.

`batch` writes a read-only version; `python -m autograder review` serves it for editing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from autograder.grading.results import PartResult, Report, TestResult
from autograder.reports.html_pages import as_json, render
from autograder.reports.review_tables import Row
from autograder.reports.short_verdict import points


def review_html(
    reports: Iterable[Report],
    tables: Mapping[str, Sequence[Row]],
    pages: Mapping[str, str],
    reviewers: Mapping[str, str] | None = None,
    me: str = "",
    anonymous: bool = False,
) -> str:
    """The review page for a class. Save the page as UTF-8, next to review.csv.

    Args:
        reports: one per submission, with the staff's decisions. They are read once.
        tables: the result of `read_tables`.
        pages: file names in the folder `staff` next to the page, by student.
        reviewers: who reviews which student.
        me: who is looking at the page; "" if it is not served, so that nothing can be written.
        anonymous: whether the students' names are pseudonyms.
    """
    title, students = "Class", list[dict[str, Any]]()
    for report in reports:
        title = report.title
        students.append(
            {
                "name": report.submission,
                "page": "staff/" + quote(pages[report.submission], safe=""),
                "notes": list(report.review) + ["the grader failed"] * report.faulty,
                "tests": places(report),
                "reviewer": (reviewers or {}).get(report.submission, ""),
            }
        )
    data = as_json({"students": students, **tables, "me": me})
    return render(
        "review.html", script="review.js", connects=bool(me), title=title, data=data, me=me, anonymous=anonymous
    )


def places(report: Report) -> dict[str, dict[str, Any]]:
    """The places where points can be changed: stages, tests, and parts of tests, with their current points."""
    found = {}
    for stage in report.stages:
        found[stage.name] = {"points": points(stage.points), "most": stage.max_points, "status": "stage"}
        for test in stage.tests:
            graded: dict[str, TestResult | PartResult] = {test.name: test}
            graded |= {f"{test.name}.{part.name}": part for part in test.parts}
            for name, one in graded.items():
                found[name] = {"points": points(one.points), "most": one.max_points, "status": one.status}
    return found
