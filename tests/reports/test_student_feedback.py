"""A student's page: nothing secret and nothing foreign in it, and all that helps."""

import re
from dataclasses import replace
from typing import Any

from autograder.diagnosis.line_verdict import LineMark
from autograder.grading.grade_submission import grade
from autograder.grading.results import Report, from_json, to_json
from autograder.reports.class_report import class_html
from autograder.reports.html_pages import LOOKS
from autograder.reports.student_feedback import feedback_html, for_student
from autograder.submissions.read_submission import Submission
from tests.support.pages import (
    ASSIGNMENT,
    HINTS,
    SOURCES,
    check,
    every_status,
    make_report,
    make_test,
    text_of,
    without_script,
)

# Foreign text

EVIL = (
    "</pre></style><script>alert(1)</script><img src=x onerror=alert(2)>"
    "\x1b[31mred\x07\u202etxt\u2066\x00 \"'&{{ 7*7 }}"
)


def test_foreign_text_is_text():
    test = make_test(EVIL, "failed", message=EVIL, details=(EVIL,), mistake=EVIL, hints=(EVIL, EVIL), printed=EVIL)
    fault = make_test("test_fault", "fault", message=EVIL, details=(EVIL,))
    foreign = make_report(
        replace(test, title=EVIL), fault, name=EVIL, review=(EVIL,), end_to_end=replace(test, max_points=0)
    )
    foreign = replace(foreign, title=EVIL, stages=(replace(foreign.stages[0], title=EVIL), *foreign.stages[1:]))
    pages = {
        "feedback": feedback_html(foreign),
        "class": class_html([foreign, foreign], {EVIL: "../../" + EVIL}, {EVIL: EVIL}),
    }
    pages["class"] = without_script(pages["class"], "class.js")
    for page in pages.values():
        check(page)
        assert "{{ 7*7 }}" in page
        assert "<script" not in page
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page)
        assert "alert(1)" in text_of(page)
    assert 'href="feedback/..%2F..%2F%3C%2Fpre%3E' in pages["class"]


def test_text_that_is_no_unicode_can_be_written(tmp_path):
    page = feedback_html(make_report(make_test(status="error", message="bad \udcff", printed="\ud800")))
    (tmp_path / "feedback.html").write_text(page, encoding="utf-8")
    assert "bad �" in page


def test_prints_keep_their_lines():
    page = feedback_html(make_report(make_test(status="failed", printed="\n  a\tb\r\nc\n")))
    assert '<pre tabindex="0">\n\n  a     b\nc\n</pre>' in page
    assert "What your code printed" not in feedback_html(make_report(make_test(printed=" \n")))


# What students see


def test_feedback_shows_the_points():
    seen = text_of(feedback_html(make_report(make_test("test_a"), make_test("test_b", "failed", 2.5))))
    assert "6.5 of 8 points , and 1.5 of 2 for extra credit" in seen
    assert "Total without extra credit 6.5 of 8 Extra credit 1.5 of 2 Total with extra credit 8 of 10" in seen
    assert "Stage 1: Attention 6.5 of 8 points" in seen


def test_hints_come_in_two_strengths_and_once():
    page = feedback_html(every_status())
    seen = text_of(page)
    assert seen.count("Your table is <b>empty</b>.") == 1
    assert "Same cause as in “Title of test_known”." in seen
    assert re.search(r"<details><summary>Why, and where to read</summary>\s*<p>Read section 3.5 again.</p>", page)


def test_a_line_after_a_gap_is_not_shown_as_wrong():
    marks = (LineMark("mha.py", 9, "y = 2", "wrong", ("the mask",), gap=True),)
    page = feedback_html(make_report(make_test("test_a", "failed", message="x is wrong", marks=marks)))
    assert "before mha.py:9 Perhaps missing here: the mask y = 2" in text_of(page)
    assert "mha.py:9 is wrong" not in text_of(page)


def test_students_see_nothing_of_a_fault_or_of_the_review():
    fault = make_test("test_x", "fault", message="ValueError: secret", details=("/home/secret.py",), printed="secret")
    page = feedback_html(make_report(fault, review=("secret",), hidden_seed=987654321, end_to_end=fault))
    assert "secret" not in page
    assert "987654321" not in page
    assert "The grader itself failed" in page


def test_a_hidden_test_shows_its_verdict_and_its_hint_only():
    said: dict[str, Any] = {"message": "secret", "details": ("secret",), "printed": "secret"}
    tests = [
        make_test(f"test_{number}", status, hidden=True, mistake="mha.x", hints=HINTS, **said)
        for number, status in enumerate(LOOKS)
    ]
    page = feedback_html(make_report(*tests))
    assert "secret" not in page
    assert "Your table is" in page
    assert "the hidden part did not" in page


def test_feedback_says_when_code_was_not_confined():
    assert "not confined" in feedback_html(make_report(confined=False))
    assert "not confined" not in feedback_html(make_report(confined=True))


def test_a_report_for_students_is_a_report():
    shown = for_student(every_status())
    assert from_json(to_json(shown)) == shown
    assert for_student(shown) == shown


# Real submissions


def graded(workers, stage: str, module: str, old: str, new: str, hidden_seed: int | None = 1) -> Report:
    """The report of the solution with a text replaced."""
    assert old in SOURCES[module]
    sources = {**SOURCES, module: SOURCES[module].replace(old, new)}
    return grade(Submission("anna", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)], hidden_seed=hidden_seed)


def test_no_value_of_a_hidden_test_is_in_the_feedback(workers):
    report = graded(workers, "pe", "pe", "/ d_model)", "/ 32)")
    (test,) = report.tests
    assert (test.status, test.hidden) == ("failed", True)
    numbers = re.findall(r"\d+\.\d+", " ".join(test.details))
    assert len(numbers) >= 3
    seen = text_of(feedback_html(report))
    assert not [value for value in (*numbers, *test.details, test.message) if value in seen]
    assert "the hidden part did not" in seen


def test_visible_tests_cannot_tell_what_hidden_ones_gave_in(workers):
    """The code remembers all inputs and prints them in a visible test that fails."""
    old = "        scores = query @"
    new = (
        "        self.__class__.seen = [*getattr(self.__class__, 'seen', []), query.sum().item()]\n"
        "        print(self.__class__.seen)\n"
        "        if key_padding_mask is not None:\n            return value\n" + old
    )
    printed = []
    for seed in (None, 1):
        first, second, *_ = graded(workers, "mha", "mha", old, new, seed).tests
        assert (first.status, first.hidden) == ("passed", seed is not None)
        assert (second.status, second.hidden) == ("failed", False)
        printed.append(second.printed)
    assert printed[0]
    assert printed[0] == printed[1]
