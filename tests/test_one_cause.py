"""One cause that ends several tests is told once, on the console and on pages; a missing file is no error."""

import io

import pytest
from rich.console import Console

from autograder.grading.grade_submission import grade
from autograder.grading.results import StageResult, TestResult
from autograder.manifest import assignment
from autograder.reports.console import print_stage
from autograder.reports.one_cause import SAME, told_once
from autograder.reports.student_feedback import feedback_html
from autograder.submissions.read_submission import Submission, read_submission

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
TESTS = list(ASSIGNMENT.stage("mha").points)
WORTH = ASSIGNMENT.stage("mha").max_points


def shown(report, verbose=False) -> str:
    printed = io.StringIO()
    console = Console(file=printed, width=100, highlight=False, markup=False)
    for stage in report.stages:
        print_stage(console, stage, verbose)
    return printed.getvalue()


@pytest.mark.parametrize(
    ("change", "status", "cause"),
    [
        (lambda text: text + "\ndef f(:\n", "error", "SyntaxError: invalid syntax"),
        (lambda text: None, "no file", "mha.py is missing"),
        (lambda text: text + "\nA = nn.MultiheadAttention\n", "forbidden", "is a ready-made part"),
    ],
    ids=["syntax", "missing", "forbidden"],
)
def test_one_cause_is_told_once_with_what_it_costs(workers, change, status, cause):
    text = change(SOURCES["mha"])
    sources = {**SOURCES, "mha": text} if text else {name: SOURCES[name] for name in SOURCES if name != "mha"}
    missing = {} if text else {"mha": "mha.py is missing"}
    report = grade(Submission("anna", sources, missing), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")])
    assert {test.status for test in report.tests} == {status}
    cost = f"This one cause costs {len(TESTS)} tests, {WORTH:g} points."
    for verbose in (False, True):
        printed = shown(report, verbose)
        assert printed.count(cause) == 1
        assert printed.count(cost) == 1
        for name in TESTS:
            assert f"{status:<12}{name}" in printed
        assert len(printed.splitlines()) <= 14
    page = feedback_html(report)
    assert page.count(cause) == 1
    assert page.count(cost) == 1
    assert page.count("the same") >= len(TESTS) - 1
    assert ("your code raised" in page) == (status == "error")


def test_different_causes_are_told_each():
    def test(name, call):
        return TestResult("mha", name, name, "error", 0, 5, "TypeError: no", (f"called    {call}", "mha.py, line 3: x"))

    stage = StageResult("mha", 1, "Attention", False, (test("a", "f(1)"), test("b", "f(2)"), test("c", "f(1)")))
    first, second, third = told_once(stage).tests
    assert first.details[-1] == "This one cause costs 2 tests, 10 points."
    assert second == stage.tests[1]
    assert (third.message, third.details) == (SAME, ())
