"""The pages for students and instructors in a real browser: they fit, sort, filter, and save what the staff writes."""

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from autograder.reports.class_report import class_html
from autograder.reports.review_file import read_review
from autograder.reports.review_page import review_html
from autograder.reports.staff_page import staff_html
from autograder.reports.student_feedback import feedback_html
from tests.support.pages import ASSIGNMENT, a_class, every_status, make_report, make_test

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [360, 1100])
def test_pages_fit_the_window_and_complain_of_nothing(browser: Any, tmp_path: Path, width: int):
    test = make_test(status="error", message="x" * 500, details=("y" * 500,), printed="z" * 500)
    long = make_report(test, name="n" * 90)
    said: list[str] = []
    pages = [feedback_html(every_status()), feedback_html(long), class_html([*a_class(40), long])]
    pages.append(review_html([long], {}, {long.submission: "x.html"}))
    for number, page in enumerate(pages):
        file = tmp_path / f"{number}.html"
        file.write_text(page, encoding="utf-8")
        tab = browser.new_page(viewport={"width": width, "height": 800})
        tab.on("console", lambda message: said.append(message.text))
        tab.goto(file.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.close()
    assert said == []


@pytest.fixture
def tab(browser: Any, tmp_path: Path) -> Any:
    """A page in which no script may fail."""
    wrong: list[str] = []
    opened = browser.new_page(viewport={"width": 1100, "height": 800})
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text))
    yield opened
    opened.close()
    assert wrong == []


def names(tab: Any) -> list[str]:
    return [text.split()[0] for text in tab.locator("#table-of-students tbody tr:visible th").all_inner_texts()]


def test_the_table_of_students_is_found_filtered_and_sorted_by_keyboard(tab: Any, tmp_path: Path, screenshots: Path):
    links = {f"student-{number}": f"{number}.html" for number in range(40)}
    (tmp_path / "report.html").write_text(class_html(a_class(40), links, decided={"student-5"}), encoding="utf-8")
    tab.goto((tmp_path / "report.html").as_uri())
    assert len(names(tab)) == 40
    tab.keyboard.press("/")
    tab.keyboard.type("student-3")
    assert names(tab) == ["student-3", *(f"student-3{digit}" for digit in range(10))]
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.textContent") == "student-30"
    tab.get_by_label("Find").fill("")
    tab.get_by_label("Show").select_option("review")
    assert names(tab) == [f"student-{number}" for number in range(0, 40, 5) if number != 5]
    tab.get_by_label("Show").select_option("reviewed")
    assert names(tab) == ["student-5"]
    tab.get_by_label("Show").select_option("")
    head = tab.get_by_role("columnheader", name="Total")
    for order in ("descending", "ascending"):
        head.get_by_role("button").focus()
        tab.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == order
        cells = tab.locator("#table-of-students tbody tr td:nth-last-child(3)").all_inner_texts()
        totals = [float(text) for text in cells]
        assert totals == sorted(totals, reverse=order == "descending")
    tab.screenshot(path=screenshots / "class-sorted.png", full_page=True)


def test_what_is_written_in_the_page_is_what_batch_reads(tab: Any, tmp_path: Path, screenshots: Path):
    students = [*a_class(6), replace(every_status(), submission='=anna; "b"')]
    pages = {one.submission: "x.html" for one in students}
    (tmp_path / "review.html").write_text(review_html(students, {}, pages), encoding="utf-8")
    tab.goto((tmp_path / "review.html").as_uri() + "#student-3/test_1")
    assert tab.locator("[name=student]").input_value() == "student-3"
    tab.locator("[name=points]").fill("99")
    tab.get_by_role("button", name="Add").click()
    assert "The test has 4 points." in tab.locator("#said").inner_text()
    tab.locator("[name=points]").fill("2,5")
    tab.get_by_role("button", name="Add").click()
    assert "Points change with a reason" in tab.locator("#said").inner_text()
    tab.locator("[name=reason]").fill('He said "yes",\nand meant it.')
    tab.locator("[name=who]").fill("X")
    tab.get_by_role("button", name="Add").click()
    assert tab.locator("#left").inner_text() == "4 of 4 left."
    tab.get_by_role("button", name="looked at: student-0").click()
    assert tab.locator("#left").inner_text() == "3 of 4 left."
    tab.locator("[name=student]").select_option('=anna; "b"')
    tab.locator("[name=reason]").fill("Come to the office hour.")
    tab.get_by_role("button", name="Add").click()
    tab.screenshot(path=screenshots / "review.png", full_page=True)
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Save review.csv").click()
    saved.value.save_as(tmp_path / "review.csv")
    found = read_review(tmp_path)
    assert {name: (one.test, one.points, one.reason, one.who) for name, (one,) in found.items()} == {
        "student-3": ("test_1", Decimal("2.5"), 'He said "yes",\nand meant it.', "X"),
        "student-0": ("", None, "", "X"),
        '=anna; "b"': ("", None, "Come to the office hour.", "X"),
    }


def test_marked_lines_of_code_stand_below_each_other(tab: Any, tmp_path: Path, screenshots: Path):
    test = make_test(status="failed", message="wrong", details=("mha.py:3 in f: x", "mha.py:4: y"))
    page = staff_html(make_report(test), {"mha": "".join(f"x = {line}\n" for line in range(1, 9))}, ASSIGNMENT)
    (tmp_path / "anna.html").write_text(page, encoding="utf-8")
    tab.goto((tmp_path / "anna.html").as_uri())
    boxes = [number.bounding_box() for number in tab.locator(".linenos").all()]
    assert len(boxes) == 8
    steps = [below["y"] - above["y"] for above, below in pairwise(boxes)]
    assert max(steps) - min(steps) < 1 < min(steps)
    tab.screenshot(path=screenshots / "staff.png", full_page=True)


def test_links_of_the_pages_of_students_keep_what_is_not_saved(tab: Any, tmp_path: Path):
    students = a_class(3)
    pages = {one.submission: f"{one.submission}.html" for one in students}
    (tmp_path / "staff").mkdir()
    for one in students:
        page = staff_html(one, {}, ASSIGNMENT)
        (tmp_path / "staff" / pages[one.submission]).write_text(page, encoding="utf-8")
    (tmp_path / "review.html").write_text(review_html(students, {}, pages), encoding="utf-8")
    tab.goto((tmp_path / "staff" / "student-0.html").as_uri())
    with tab.context.expect_page() as opened:
        tab.get_by_role("link", name="Change the points of test_1", exact=True).click()
    review = opened.value
    for number in (1, 2):
        review.locator("[name=reason]").fill(f"words {number}")
        review.get_by_role("button", name="Add").click()
        tab.goto((tmp_path / "staff" / f"student-{number}.html").as_uri())
        tab.get_by_role("link", name="Change the points of test_1", exact=True).click()
        review.wait_for_function(f"document.querySelector('[name=student]').value === 'student-{number}'")
    assert len(tab.context.pages) == 2
    assert review.locator("#decisions tr").count() == 2
