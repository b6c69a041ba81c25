"""An instructor's path in formgrader, inside a real JupyterLab: autograde, look at the scores, and at a submission."""

import pytest

from tests.browser.conftest import running_lab
from tests.support.nbgrading import MASK, NAME, SOLUTIONS, Course
from tests.support.worth import FULL, TOTAL, WRONG_MASK, WRONG_MASK_HINT, of, shown

SECONDS = 200  # for grading all notebooks of a student, on a busy machine
pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    """A course in which two students have handed in; one of them is graded."""
    course = Course(tmp_path_factory.mktemp("course"))
    course.nbgrader("generate_assignment", NAME)
    course.hand_in(course.submitted("partial"), SOLUTIONS, mha=MASK)
    course.hand_in(course.submitted("stubs"), course.folder / "notebooks" / NAME)
    course.nbgrader("autograde", NAME, "--student=stubs")
    return course


def test_formgrader_grades_and_shows_the_scores(course, browser, screenshots, tmp_path):
    with running_lab(course.folder, tmp_path) as lab:
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.set_default_timeout(1000 * SECONDS)
        page.goto(f"{lab}/lab")
        page.locator(".lm-MenuBar-itemLabel").get_by_text("Nbgrader", exact=True).click()
        page.locator(".lm-Menu-itemLabel").get_by_text("Formgrader", exact=True).click()
        forms = page.frame_locator("iframe").first
        # One row for the assignment, with both submissions.
        forms.get_by_role("row", name=NAME).get_by_role("link", name="2", exact=True).click()
        row = forms.get_by_role("row", name="partial")
        row.get_by_text("needs autograding").wait_for()
        assert f"0 / {shown(TOTAL)}" in forms.get_by_role("row", name="stubs").inner_text()
        page.screenshot(path=screenshots / "formgrader-before.png")
        row.locator(".autograde a").click()
        forms.get_by_text(f"Successfully autograded '{NAME}' for student 'partial'.").wait_for()
        page.screenshot(path=screenshots / "formgrader-graded.png")
        forms.get_by_role("button", name="OK").click()
        forms.locator(".modal").wait_for(state="detached")
        words = row.inner_text().split()
        assert f"{shown(TOTAL - FULL['mha'] + WRONG_MASK)} / {shown(TOTAL)}" in " ".join(words)
        assert "graded" in words
        page.screenshot(path=screenshots / "formgrader-scores.png")
        # From the score to the verdict in the notebook.
        row.get_by_role("link", name="None, None").click()
        forms.get_by_role("link", name="1_mha").wait_for()
        page.screenshot(path=screenshots / "formgrader-notebooks.png")
        forms.get_by_role("link", name="1_mha").click()
        score = forms.locator("#stage-mha")
        score.wait_for()
        verdict = forms.locator(".tc-verdict").last
        assert f"{of(WRONG_MASK, FULL['mha'])} points" in " ".join(verdict.inner_text().split())
        assert WRONG_MASK_HINT in " ".join(verdict.text_content().split())
        # formgrader shows the automatic score as the hint of the field for the manual one.
        assert float(score.get_attribute("placeholder") or "nan") == WRONG_MASK
        score.scroll_into_view_if_needed()
        page.screenshot(path=screenshots / "formgrader-verdict.png")
        page.close()
    assert course.scores()["partial"] == {**FULL, "mha": WRONG_MASK}
