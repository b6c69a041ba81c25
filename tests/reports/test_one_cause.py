"""One cause that ends several tests is told once, on the console and on pages; a missing file is no error."""

import io
import re
from itertools import permutations

import pytest
from rich.console import Console

from autograder.authoring.release import RELEASE
from autograder.diagnosis.line_verdict import LineMark
from autograder.grading.grade_submission import grade
from autograder.grading.results import PartResult, Report, StageResult, TestResult
from autograder.manifest import assignment
from autograder.reports.console import print_stage, print_total
from autograder.reports.one_cause import SAME, told_once
from autograder.reports.staff_page import staff_html
from autograder.reports.student_feedback import feedback_html
from autograder.reports.verdict import verdict
from autograder.submissions.read_submission import Submission, read_submission
from course.location import ENGINE as ROOT

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
    cost = f"This cause costs {len(TESTS)} tests, {WORTH:g} points."
    for verbose in (False, True):
        printed = shown(report, verbose)
        assert printed.count(cause) == 1
        assert not verbose or printed.count(cost) == 1
        assert sum(row.startswith(f"  {status.upper():<12}") for row in printed.upper().splitlines()) == len(TESTS)
        assert len(printed.splitlines()) <= 14 + 2 * len(TESTS) * verbose
    page = feedback_html(report)
    assert page.count(cause) == 1
    assert page.count(cost) == 1
    assert page.count(SAME) >= len(TESTS) - 1
    assert ("your code raised" in page) == (status == "error")


def test_different_causes_are_told_each():
    def test(name, call):
        return TestResult("mha", name, name, "error", 0, 5, "TypeError: no", (f"called    {call}", "mha.py:3: x"))

    stage = StageResult("mha", 1, "Attention", False, (test("a", "f(1)"), test("b", "f(2)"), test("c", "f(1)")))
    first, second, third = told_once(stage).tests
    assert first.details[-1] == "This cause costs 2 tests, 10 points."
    assert second == stage.tests[1]
    assert (third.message, third.details) == (SAME, ())


def test_what_is_not_written_is_said_once(workers):
    stubs = read_submission(ROOT / RELEASE / ASSIGNMENT.name, ASSIGNMENT)
    report = grade(stubs, ASSIGNMENT, workers, [ASSIGNMENT.stage("mha"), ASSIGNMENT.stage("pe")])
    assert {test.status for test in report.tests} == {"not started"}
    printed = shown(report)
    assert printed.count("compute_mh_qkv_transformation is not written yet") == 1
    assert printed.count("PositionalEncoding.__init__ is not written yet") == 1
    assert "This cause" not in printed
    assert len(printed.splitlines()) == 6  # a blank row, the title and the first function of each stage
    page = " ".join(feedback_html(report).split())
    assert page.count(SAME) >= 1
    assert "`" not in page


def test_a_part_does_not_repeat_what_the_test_says():
    parts = (PartResult("a", "failed", 0, 3, "x is wrong"), PartResult("b", "failed", 0, 2, "y is wrong"))
    test = TestResult("mha", "test_a", "Attend.", "failed", 0, 5, "x is wrong", parts=parts)
    report = Report("T", "anna", (StageResult("mha", 1, "Attention", False, (test,)),), 1.0)
    assert shown(report).count("x is wrong") == 1
    assert shown(report, verbose=True).count("x is wrong") == 1
    assert shown(report, verbose=True).count("y is wrong") == 1


def test_a_line_of_code_is_two_rows_and_whole_with_verbose():
    code = "    x = " + "y + " * 60
    test = TestResult("mha", "test_a", "A.", "failed", 0, 5, "wrong", pointed=("mha.py:3 is wrong:", code))
    report = Report("T", "anna", (StageResult("mha", 1, "Attention", False, (test,)),), 1.0)
    first, second = (row for row in shown(report).splitlines() if "y + y" in row)
    assert first.startswith(" " * 8 + "x = y")
    assert second.startswith(" " * 12 + "y")
    assert second.endswith("…")
    rows = shown(report, verbose=True).splitlines()
    start = next(index for index, row in enumerate(rows) if "x = y" in row)
    assert all(row.startswith((" " * 8 + "y", " " * 8 + "+")) for row in rows[start : start + 2][1:])


def test_a_line_with_a_short_code_is_one_row_that_an_editor_can_open():
    test = TestResult("mha", "test_a", "A.", "failed", 0, 5, "wrong", pointed=("mha.py:3 is wrong:", "    x = y"))
    report = Report("T", "anna", (StageResult("mha", 1, "Attention", False, (test,)),), 1.0)
    assert "    mha.py:3 is wrong:  x = y" in shown(report).splitlines()


def test_code_in_a_sentence_is_code_on_a_page():
    said = "f returns nothing: is there a `return`? <b>"
    test = TestResult("mha", "test_a", "A.", "failed", 0, 5, said)
    page = feedback_html(Report("T", "anna", (StageResult("mha", 1, "Attention", False, (test,)),), 1.0))
    assert "f returns nothing: is there a <code>return</code>? &lt;b&gt;" in page


def test_all_stages_end_with_a_line_for_each():
    stages = tuple(
        StageResult(f"s{n}", n, f"Title {n}", False, (TestResult(f"s{n}", "t", "T.", "passed", n, 9),)) for n in (1, 2)
    )
    for some, expected in ((stages, True), (stages[:1], False)):
        printed = io.StringIO()
        print_total(Console(file=printed, width=80, highlight=False, markup=False), Report("T", "anna", some, 1.0))
        rows = [" ".join(row.split()) for row in printed.getvalue().splitlines()]
        assert ("1 Title 1 1 of 9" in rows) == expected


def pointing(name: str, *lines: int, degree: str, hidden: bool = False) -> TestResult:
    """A failed test that points at these lines."""
    places = " or ".join(f"mha.py:{line}" for line in lines)
    sentences = (f"{places} {degree}:", *(f"    x = {line}" for line in lines), "Expected here: scores.")
    marks = tuple(LineMark("mha.py", line, f"x = {line}", "wrong") for line in lines)
    return TestResult(
        "mha", name, f"{name}.", "failed", 0, 5, f"{name} is off", hidden=hidden, pointed=sentences, marks=marks
    )


@pytest.mark.parametrize("order", [*permutations(("may be wrong", "is probably wrong", "is wrong"))])
@pytest.mark.parametrize("verbose", [False, True])
def test_a_line_has_one_degree_of_certainty(order, verbose):
    """The strongest, in every report; also if a test points at several lines, and another at one of them."""
    tests = [pointing(name, 28, degree=degree) for name, degree in zip("abc", order, strict=True)]
    tests += [pointing("d", 28, 31, degree="may be wrong"), pointing("e", 40, 41, degree="may be wrong")]
    report = Report("T", "anna", (StageResult("mha", 1, "Attention", False, tuple(tests)),), 1.0)
    data = verdict(report, ASSIGNMENT)["tests"]
    staff = staff_html(report, {}, ASSIGNMENT)
    for text in (shown(report, verbose), feedback_html(report), staff, *(test["details"] for test in data[:4])):
        assert "mha.py:28 is wrong" in text
        assert not re.search(r"mha.py:(28|31) (may be|is probably)", text)
    assert "mha.py:40 or mha.py:41 may be wrong" in shown(report, verbose)
    assert [[mark["line"] for mark in test["lines"]] for test in data] == [[28], [28], [28], [28], [40, 41]]
    assert data[3]["details"].splitlines() == ["mha.py:28 is wrong:", "    x = 28"]


def test_what_hidden_tests_prove_is_not_told_to_students():
    tests = (pointing("a", 28, degree="may be wrong"), pointing("b", 28, degree="is wrong", hidden=True))
    report = Report("T", "anna", (StageResult("mha", 1, "Attention", False, tests),), 1.0, hidden_seed=5)
    for text in (feedback_html(report), verdict(report, ASSIGNMENT)["tests"][0]["details"]):
        assert "mha.py:28 may be wrong" in text
        assert "mha.py:28 is wrong" not in text
    assert "mha.py:28 may be wrong" not in staff_html(report, {}, ASSIGNMENT)
