"""The feedback page: what one student gets, as one self-contained HTML file."""

from dataclasses import replace

from autograder.grading.results import PartResult, Report, StageResult, TestResult
from autograder.reports.html_pages import LOOKS, render
from autograder.reports.one_cause import told_once

HIDDEN = "The visible part of this test passed, the hidden part did not."
ADVICE = "Try sizes, lengths, masks and values other than those of the visible part."
FAULT = "The grader itself failed here. This says nothing about your code; your instructor sees it too."


def feedback_html(report: Report) -> str:
    """The feedback page of one submission, for the student who wrote it.

    It is complete in itself (no other file, no script) and holds only what students may see. Write it as UTF-8.

    Args:
        report: what grading gave; `report.submission` is shown as the name and should be the student's, not a path.
    """
    shown = for_student(report)
    tests = (*shown.tests, *((shown.end_to_end,) if shown.end_to_end else ()))
    found = {test.status for test in tests if test.status != "passed"}
    return render(
        "feedback.html",
        report=shown,
        hidden=report.hidden_seed is not None,
        statuses=[status for status in LOOKS if status in found],
    )


def for_student(report: Report) -> Report:
    """The report without what is not for students.

    Of a hidden test they see the verdict and the hint of a known mistake, whose text is fixed; neither inputs nor
    values, and nothing that the code said or printed when it had seen them: not the lines either, which the code could
    choose by what it saw. Of a fault of the grader they see no
    traceback. Review notes and the seed are left out.
    """
    return replace(
        report,
        stages=tuple(map(_stage, report.stages)),
        end_to_end=test_for_student(report.end_to_end) if report.end_to_end else None,
        hidden_seed=None,
        review=(),
    )


def _stage(stage: StageResult) -> StageResult:
    tests: list[TestResult] = []
    first: dict[str, str] = {}  # the title of the first test with each known mistake, where its hints are
    for test in map(test_for_student, stage.tests):
        if test.hints and test.mistake in first:
            test = replace(test, hints=(f"Same cause as in “{first[test.mistake]}”.",))
        elif test.hints:
            first[test.mistake] = test.title.rstrip(".")
        tests.append(test)
    return told_once(replace(stage, tests=tuple(tests)))


def part_for_student(part: PartResult) -> PartResult:
    """A part without what is not for students."""
    if part.status == "fault":
        return replace(part, message="")
    return replace(part, message="the visible part passed, the hidden one did not") if _guarded(part) else part


def _guarded(part: PartResult) -> bool:
    return part.hidden and part.status != "passed"


def test_for_student(test: TestResult) -> TestResult:
    """A test without what is not for students."""
    test = replace(test, parts=tuple(map(part_for_student, test.parts)))
    if test.status == "fault":
        return replace(test, message=FAULT, details=(), short="", mistake="", hints=(), printed="")
    if test.hidden:
        test = replace(test, pointed=(), marks=(), fault_step="", places=(), short="")
        if test.status == "passed":
            return replace(test, message="", details=(), printed="")
        return replace(test, message=HIDDEN, details=() if test.hints else (ADVICE,), printed="")
    if test.status == "not started":
        # Where the stub raises is no news.
        return replace(test, details=(), short="")
    return test
