"""The verdict as the output of a Moodle VPL evaluation: a block of comments, then a line with the grade.

VPL turns `mha.py:104` into a link to that line. Lines that begin with ">" are shown unchanged, so that no student's
text is mistaken for a tag. Without a "Grade" line there is no grade, so a grader failure never counts as 0.
"""

from collections.abc import Iterator

from autograder.reports.short_verdict import points
from autograder.reports.verdict import Verdict

BEGIN, END, GRADE = "<|--", "--|>", "Grade :=>>"


def output(found: Verdict, maximum: float) -> str:
    """The text that vpl_execution prints.

    Args:
        maximum: the activity's maximum grade. Extra credit only makes up for lost points.
    """
    lines = [BEGIN, *_comments(found), END]
    if found["outcome"] == "graded" and (most := found["max_points"] or found["max_extra_points"]):
        share = (found["points"] + found["extra_points"]) / most
        lines.append(f"{GRADE} {maximum * min(1.0, share):.2f}")
    return "\n".join([*lines, ""])


def _comments(found: Verdict) -> Iterator[str]:
    yield f"-{found['summary']}"
    for test in found["tests"]:
        if test["status"] == "passed" and not test["message"]:
            continue
        yield f"-{test['number']} {test['title']} {points(test['points'])} of {points(test['max_points'])}"
        for place in test["diagnostics"]:
            yield f"{place['file']}:{place['line']}"
        told = [f"{test['status']}: {test['message']}", test["details"], *test["hints"]]
        yield from (f">{row}" for text in told for row in text.splitlines())
