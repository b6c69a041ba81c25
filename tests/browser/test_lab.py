"""A student's path in JupyterLab: run everything, read the verdict, correct a mistake on disk, move a slider."""

import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.diagnosis.mistakes import all_mistakes
from autograder.manifest import Assignment, Stage, assignment, assignments
from autograder.submissions.read_submission import read_submission
from tests.support.worth import FULL, WRONG_MASK, WRONG_MASK_HINT, of

ROOT = Path(__file__).resolve().parent.parent.parent
SOLUTION = ROOT / "solutions" / "transformer"
ASSIGNMENT = assignment("transformer")
SECONDS = 150  # for a whole notebook, on a busy machine
TRAINING_SECONDS = 1500  # for one whose cells train, with the solution
RIGHT, WRONG = "key_padding_mask[:, None, None, :] != 0", "key_padding_mask[:, None, None, :] == 0"
EXPLORER = """
from course import explore_attention, trained
explore_attention(trained(), "Mein Bruder hat heute Morgen den Hund gefüttert.")
"""
pytestmark = [pytest.mark.browser, pytest.mark.slow]


class Page:
    """A notebook that is open in JupyterLab."""

    def __init__(self, browser: Any, lab: str, path: str, screenshots: Path) -> None:
        self.page = browser.new_page(viewport={"width": 1300, "height": 1500})
        self.screenshots, self.name, self.seconds = screenshots, Path(path).stem, SECONDS
        self.page.goto(f"{lab}/lab/workspaces/{self.name}/tree/{path}?reset", timeout=1000 * SECONDS)
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=1000 * SECONDS)
        # Before the kernel has answered, JupyterLab drops what is to be run.
        self.page.get_by_text("| Idle").wait_for(timeout=1000 * SECONDS)
        self.page.wait_for_timeout(1000)

    def menu(self, *names: str) -> None:
        for name in names[:-1]:
            self.page.locator(".lm-MenuBar-itemLabel, .lm-Menu-itemLabel").get_by_text(name, exact=True).click()
        self.page.locator(".lm-Menu-itemLabel").get_by_text(names[-1], exact=True).click()

    def wait(self) -> None:
        """Wait until no cell is waiting or running."""
        self.page.wait_for_timeout(500)
        self.page.wait_for_function(
            """() => { const prompts = [...document.querySelectorAll('.jp-InputPrompt')].map(p => p.textContent);
            return prompts.some(p => /\\[\\d+\\]/.test(p)) && !prompts.some(p => p.includes('[*]')); }""",
            timeout=1000 * self.seconds,
            polling=300,
        )

    def run_all(self) -> None:
        self.menu("Run", "Run All Cells")
        self.wait()

    def run_graded(self) -> str:
        """Run the graded cell, the one that was released last; the words of its verdict."""
        cell = self.page.locator(".jp-CodeCell").filter(has_text="from course import check").last
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self.wait()
        return self.words(cell.locator(".tc-verdict").inner_text())

    def verdict(self) -> str:
        return self.words(self.page.locator(".tc-verdict").last.inner_text())

    @staticmethod
    def words(text: str) -> str:
        return " ".join(text.split())

    def no_errors(self) -> None:
        assert self.page.locator('[data-mime-type="application/vnd.jupyter.error"]').all_inner_texts() == []
        assert self.page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').all_inner_texts() == []
        broken = "() => [...document.querySelectorAll('.jp-Notebook img')].filter(i => !i.naturalWidth).map(i => i.alt)"
        assert self.page.evaluate(broken) == []

    def see(self, locator: Any, name: str) -> None:
        """Leave a picture of an element."""
        locator.scroll_into_view_if_needed()
        locator.screenshot(path=self.screenshots / f"{self.name}-{name}.png")


def put_modules(folder: Path, old: str = "", new: str = "") -> None:
    for module in SOLUTION.glob("*.py"):
        text = module.read_text(encoding="utf-8")
        (folder / module.name).write_text(text.replace(old, new) if old else text, encoding="utf-8")


def put_stubs(folder: Path) -> None:
    for module in (ROOT / "notebooks" / "transformer").glob("*.py"):
        (folder / module.name).write_bytes(module.read_bytes())


def test_a_mistake_its_hint_and_its_correction(browser, lab, course_copy, screenshots):
    folder = course_copy / "notebooks" / "transformer"
    put_stubs(folder)
    notebook = Page(browser, lab, "notebooks/transformer/1_mha.ipynb", screenshots)
    notebook.run_all()
    notebook.no_errors()
    assert f"{of(0, FULL['mha'])} points" in notebook.verdict()
    assert "not started" in notebook.verdict()
    heatmaps = notebook.page.locator('.jp-OutputArea img[alt*="heatmap"]')
    assert heatmaps.count() > 0
    notebook.see(heatmaps.locator("visible=true").first, "heatmap")
    put_modules(folder, RIGHT, WRONG)
    words = notebook.run_graded()
    assert f"{of(WRONG_MASK, FULL['mha'])} points" in words
    assert WRONG_MASK_HINT in words
    verdict = notebook.page.locator(".tc-verdict").last
    verdict.locator("summary").get_by_text("Details").first.click()
    verdict.locator("summary").get_by_text("as a picture").click()
    notebook.see(verdict, "wrong")
    notebook.page.set_viewport_size({"width": 768, "height": 1500})
    assert verdict.evaluate("element => element.scrollWidth <= element.clientWidth")  # nothing is cut
    notebook.see(verdict, "wrong-768")
    notebook.page.set_viewport_size({"width": 1300, "height": 1500})
    notebook.menu("Settings", "Theme", "JupyterLab Dark")
    notebook.page.wait_for_selector('body[data-jp-theme-light="false"]', state="attached")
    notebook.see(verdict, "wrong-dark")
    notebook.menu("Settings", "Theme", "JupyterLab Light")
    notebook.run_all()
    notebook.no_errors()
    # A heatmap of the student's own code shows the mistake, and its correction.
    own = notebook.page.locator(".jp-CodeCell").filter(has_text="INVERTED").locator(".jp-OutputArea img:visible")
    notebook.see(own, "heatmap-wrong")
    wrong = own.get_attribute("src")
    put_modules(folder)
    assert f"{of(FULL['mha'], FULL['mha'])} points" in notebook.run_graded()
    notebook.see(notebook.page.locator(".tc-verdict").last, "right")
    notebook.run_all()
    notebook.no_errors()
    notebook.see(own, "heatmap-right")
    assert own.get_attribute("src") != wrong
    notebook.page.close()


def each(what: str) -> list[Any]:
    """Every assignment with each of its stages, or of its notebooks without a stage."""
    goals = [assignment(name) for name in assignments()]
    return [
        pytest.param(goal, item, id=f"{goal.name} {getattr(item, 'name', item)}")
        for goal in goals
        for item in getattr(goal, what)
    ]


@pytest.mark.parametrize(("goal", "name"), each("more_notebooks"))
def test_a_notebook_without_a_stage_runs(goal: Assignment, name: str, browser, lab, course_copy, screenshots):
    notebook = Page(browser, lab, f"notebooks/{goal.name}/{name}", screenshots)
    notebook.seconds = TRAINING_SECONDS  # one of them trains the Transformer
    notebook.run_all()
    notebook.no_errors()


@pytest.mark.parametrize(("goal", "stage"), each("stages"))
def test_every_notebook_runs_before_and_after(goal: Assignment, stage: Stage, browser, lab, course_copy, screenshots):
    """As released; with the first of the known mistakes in the stage, which is named; and solved."""
    folder = course_copy / "notebooks" / goal.name
    for stub in (ROOT / "notebooks" / goal.name).glob("*.py"):
        shutil.copy(stub, folder)
    notebook = Page(browser, lab, f"notebooks/{goal.name}/{stage.notebook}", screenshots)
    notebook.seconds = TRAINING_SECONDS
    notebook.run_all()
    notebook.no_errors()
    assert "not started" in notebook.verdict()
    mistake = next(one for one in all_mistakes(goal.name) if one.stage == stage.name and one.seen_by == "visible")
    sources = read_submission(goal.solution, goal).sources
    for module, text in mistake.apply(sources).items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    words = notebook.run_graded()
    assert f"{stage.max_points:g} of {stage.max_points:g} points" not in words
    verdict = notebook.page.locator(".tc-verdict").last
    assert Page.words(mistake.looks_like) in Page.words(verdict.inner_text())
    notebook.see(verdict, "mistake")
    for module, text in sources.items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    notebook.run_all()
    notebook.no_errors()
    assert f"{stage.max_points:g} of {stage.max_points:g} points" in notebook.verdict()
    for number, image in enumerate(
        notebook.page.locator(".jp-MarkdownOutput img, .jp-OutputArea img:visible").all()[:12]
    ):
        notebook.see(image, f"image-{number:02}")
    notebook.page.close()


def test_the_live_view_moves(browser, lab, course_copy, screenshots):
    path = course_copy / "explorer.ipynb"
    cells = [nbformat.v4.new_code_cell(EXPLORER.strip())]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
    notebook = Page(browser, lab, "explorer.ipynb", screenshots)
    notebook.run_all()
    page = notebook.page
    live = page.locator(".jp-OutputArea .tc-live[data-live]")
    live.wait_for()
    page.get_by_role("slider", name="step").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    assert re.search(r"next: ▁?\w+", live.inner_text())
    page.get_by_label("kind").select_option(label="decoder self-attention")
    live.locator("svg").first.focus()
    page.keyboard.press("ArrowDown")
    assert "▁My attends to <s>" in live.locator("output").inner_text()
    notebook.see(live, "moved")
    notebook.menu("Settings", "Theme", "JupyterLab Dark")
    page.wait_for_selector('body[data-jp-theme-light="false"]', state="attached")
    notebook.see(live, "moved-dark")
    notebook.menu("Settings", "Theme", "JupyterLab Light")
    box = page.get_by_label("sentence")
    box.fill(" ")
    box.press("Enter")
    page.get_by_text("the sentence is empty").wait_for()
    box.fill("Der Hund schläft unter dem Tisch.")
    box.press("Enter")
    page.locator(".tc-live[data-live]").get_by_text("The dog is sleeping under the table.").first.wait_for()
    assert page.locator(".tc-live[data-live]").count() == 1
    notebook.see(page.locator(".jp-OutputArea").first, "another-sentence")
    notebook.no_errors()
    page.close()
