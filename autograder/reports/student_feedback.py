"""The feedback page for one student, as a self-contained HTML file."""

from dataclasses import replace

from autograder.grading.results import PartResult, Report, StageResult, TestResult
from autograder.reports.html_pages import LOOKS, render
from autograder.reports.one_cause import told_once

HIDDEN = "The visible part of this test passed, the hidden part did not."
ADVICE = "Try sizes, lengths, masks and values other than those of the visible part."
FAULT = "The grader itself failed here. This says nothing about your code; your instructor sees it too."


def feedback_html(report: Report) -> str:
    """The feedback page of one submission, for the student.

    The page is self-contained (no other file, no script) and contains nothing confidential. Save the page as UTF-8.

    Args:
        report: the result of grading; `report.submission` is shown and should be the student's name, not a path.
    """
    shown = for_student(report)
    tests = (*shown.tests, *((shown.end_to_end,) if shown.end_to_end else ()))
    not_passed = {test.status for test in tests if test.status != "passed"}
    return render(
        "feedback.html",
        report=shown,
        hidden=report.hidden_seed is not None,
        statuses=[status for status in LOOKS if status in not_passed],
    )


def for_student(report: Report) -> Report:
    """The report without the parts that students must not see.

    For a hidden test, students see the verdict and the fixed hint for a known mistake, but no inputs or values. Output,
    messages and line numbers from code that received hidden inputs are left out, too: the code could use them to reveal
    the inputs. Tracebacks from grader failures, review notes and the seed are also left out.
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
    first: dict[str, str] = {}  # known mistake -> the title of the first test with it, which shows the hints
    for test in map(test_for_student, stage.tests):
        if test.hints and test.mistake in first:
            test = replace(test, hints=(f"Same cause as in “{first[test.mistake]}”.",))
        elif test.hints:
            first[test.mistake] = test.title.rstrip(".")
        tests.append(test)
    return told_once(replace(stage, tests=tuple(tests)))


def part_for_student(part: PartResult) -> PartResult:
    """A part without the text that students must not see."""
    if part.status == "fault":
        return replace(part, message="")
    return replace(part, message="the visible part passed, the hidden one did not") if _guarded(part) else part


def _guarded(part: PartResult) -> bool:
    return part.hidden and part.status != "passed"


def test_for_student(test: TestResult) -> TestResult:
    """A test without the parts that students must not see."""
    test = replace(test, parts=tuple(map(part_for_student, test.parts)))
    if test.status == "fault":
        return replace(test, message=FAULT, details=(), short="", mistake="", hints=(), printed="")
    if test.hidden:
        test = replace(test, pointed=(), marks=(), fault_step="", places=(), short="")
        if test.status == "passed":
            return replace(test, message="", details=(), printed="")
        return replace(test, message=HIDDEN, details=() if test.hints else (ADVICE,), printed="")
    if test.status == "not started":
        # The line on which a stub raises is of no interest.
        return replace(test, details=(), short="")
    return test
