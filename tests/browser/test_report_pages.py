"""The pages for students and instructors in a real browser: they fit, sort, filter, and save what the staff writes."""

import time
from collections.abc import Callable
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
from tests.support.reviewing import serving, write_class

TABLES: dict[str, list[dict[str, str]]] = {"review": [], "rubric": [], "requests": []}
pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [360, 1100])
def test_pages_fit_the_window_and_complain_of_nothing(browser: Any, tmp_path: Path, width: int):
    test = make_test(status="error", message="x" * 500, details=("y" * 500,), printed="z" * 500)
    long = make_report(test, name="n" * 90)
    said: list[str] = []
    pages = [feedback_html(every_status()), feedback_html(long), class_html([*a_class(40), long])]
    pages.append(review_html([long], TABLES, {long.submission: "x.html"}))
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


def until(true: Callable[[], bool]) -> None:
    """Wait: the policy of the page forbids the browser's own way of waiting for an expression."""
    for _ in range(100):
        if true():
            return
        time.sleep(0.1)
    raise TimeoutError


def test_what_two_reviewers_write_is_what_batch_reads(browser: Any, tmp_path: Path, screenshots: Path):
    """One gives an item of the rubric. The other sees it, sets points, answers a request, and is second once."""
    folder = write_class(tmp_path / "graded")
    (folder / "requests.csv").write_text("student,test,request\nbob-poe,,Test Q is right.\n", encoding="utf-8")
    wrong: list[str] = []
    with serving(folder, "X", "Y") as server:
        tabs = []
        for name in "XY":
            tab = browser.new_context(viewport={"width": 1100, "height": 800}).new_page()
            tab.on("pageerror", lambda error: wrong.append(str(error)))
            tab.goto(server.link(name * 2))
            tabs.append(tab)
        x, y = tabs
        for field, text in {"item": "names", "points": "-1", "comment": "Names say nothing."}.items():
            x.locator(f"#new-item [name={field}]").fill(text)
        x.locator("#new-item [name=on]").select_option("mha")
        x.get_by_role("button", name="Save item").click()
        until(lambda: x.locator("#items tr").count() == 1)
        x.locator("#form [name=item]").select_option("names")
        x.get_by_role("button", name="Add", exact=True).click()
        until(lambda: y.locator("#decisions tr").count() == 1)  # without a reload
        y.goto(f"{y.url}#bob-poe/test_p.values")
        assert y.locator("#form [name=student]").input_value() == "bob-poe"
        y.locator("#form [name=points]").fill("99")
        y.locator("#form [name=reason]").fill('He said "yes",\nand meant it.')
        y.get_by_role("button", name="Add", exact=True).click()
        until(lambda: "Not saved: bob-poe gets 99 points" in y.locator("#said").inner_text())
        y.locator("#form [name=points]").fill("2,5")
        y.get_by_role("button", name="Add", exact=True).click()
        until(lambda: "now 2.5 of 3" in y.locator("#now").inner_text())
        y.locator("#requests textarea").fill("It is not.")
        y.get_by_role("button", name="answer: bob-poe").click()
        until(lambda: y.locator("#open").inner_text() == "0 of 1 without an answer.")
        y.get_by_role("button", name="mark as reviewed: cleo-fry").click()
        until(lambda: y.locator("#left").inner_text() == "0 of 3 left.")
        y.get_by_role("button", name="edit: row of anna-lee").click()
        x.get_by_role("button", name="remove: row of anna-lee").click()
        until(lambda: "Removed" in x.locator("#said").inner_text())
        y.get_by_role("button", name="Save the change").click()
        until(lambda: "somebody else has changed" in y.locator("#said").inner_text())
        y.screenshot(path=screenshots / "review.png", full_page=True)
    assert wrong == []
    found = read_review(folder)
    assert [(one.graded, one.points, one.reason, one.who) for one in found["bob-poe"]] == [
        ("test_p.values", Decimal("2.5"), 'He said "yes",\nand meant it.', "Y"),
        ("", None, "You asked: Test Q is right. Answer: It is not.", "Y"),
    ]
    assert [one.reason for one in found["cleo-fry"]] == [""]
    assert not found.get("anna-lee")


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


def test_links_of_the_pages_of_students_lead_to_one_tab(browser: Any, tmp_path: Path):
    with serving(write_class(tmp_path / "graded"), "X") as server:
        window = browser.new_context()
        window.new_page().goto(server.link("XX"))
        window.pages[0].close()
        tab = window.new_page()
        tab.goto(f"http://127.0.0.1:{server.server_port}/staff/anna-lee.html")
        with tab.context.expect_page() as opened:
            tab.get_by_role("link", name="Change the points of test_q", exact=True).click()
        review = opened.value
        review.locator("#form [name=reason]").fill("words")
        tab.goto(f"http://127.0.0.1:{server.server_port}/staff/bob-poe.html")
        tab.get_by_role("link", name="Change the points of test_q", exact=True).click()
        until(lambda: review.locator("#form [name=student]").input_value() == "bob-poe")
        assert review.locator("#form [name=reason]").input_value() == "words"
        assert len(tab.context.pages) == 2
