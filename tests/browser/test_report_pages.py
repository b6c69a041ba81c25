"""The pages for students and instructors in a real browser."""

from pathlib import Path
from typing import Any

import pytest

from autograder.reports.class_report import class_html
from autograder.reports.student_feedback import feedback_html
from tests.pages import a_class, every_status, make_report, make_test

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [360, 1100])
def test_pages_fit_the_window_and_run_no_script(browser: Any, tmp_path: Path, width: int):
    test = make_test(status="error", message="x" * 500, details=("y" * 500,), printed="z" * 500)
    long = make_report(test, name="n" * 90)
    said: list[str] = []
    pages = [feedback_html(every_status()), feedback_html(long), class_html([*a_class(40), long])]
    for number, page in enumerate(pages):
        file = tmp_path / f"{number}.html"
        file.write_text(page, encoding="utf-8")
        tab = browser.new_page(viewport={"width": width, "height": 800})
        tab.on("console", lambda message: said.append(message.text))
        tab.goto(file.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.close()
    assert said == []
