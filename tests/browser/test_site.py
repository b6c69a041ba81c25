"""The site in a browser: nothing from outside, legible and usable by keyboard, on a phone, with search and live views.

SITE names a site that is built already; otherwise it is built here, from the cache of `make site` as far as that goes.
"""

import os
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.authoring.release import RELEASE
from autograder.manifest import every_assignment
from tests.browser.conftest import INSTALL

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NOTEBOOKS = [f"{RELEASE}/{one.name}/{Path(name).stem}" for one in every_assignment() for name in one.notebooks]
OTHERS = [
    "index",
    "docs/student-guide",
    "docs/instructor-guide",
    "docs/written-exercises/exercises",
    "reference/course",
]
OTHERS += [f"{RELEASE}/{one.name}/index" for one in every_assignment()]
OTHERS += [f"reference/{one.name}" for one in every_assignment()]
# The rules of WCAG 2.1, levels A and AA, without those that are good practice only.
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


class QuietHandler(SimpleHTTPRequestHandler):
    """A web server that keeps no log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if built := os.environ.get("SITE"):
        return Path(built)
    folder = tmp_path_factory.mktemp("site") / "site"
    assert main(["site", "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def opened(browser: Any, site: Path) -> Iterator[Any]:
    """Open a page; what it asks for outside of the site, and errors of its scripts, fail the test."""
    wrong: list[str] = []
    contexts = []

    def open_page(name: str, width: int = 1366, theme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 768}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"{name}: {error}"))
        page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_function("!window.MathJax || !MathJax.startup || MathJax.startup.promise.then(() => true)")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize("name", [*OTHERS, *NOTEBOOKS])
def test_pages_are_accessible_light_and_dark(name: str, opened: Any):
    reason = f"there is no axe-playwright-python; {INSTALL}"
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=reason).Axe()
    for theme in ("light", "dark"):
        found = axe.run(opened(name, theme=theme), options=RULES).response["violations"]
        said = [
            f"{theme}: {rule['id']}: {node['target']} {node['failureSummary']}"
            for rule in found
            for node in rule["nodes"][:3]
        ]
        assert said == [], "\n".join(said)


@pytest.mark.parametrize("name", [*OTHERS, *NOTEBOOKS])
def test_pages_fit_a_phone(name: str, opened: Any, screenshots: Path):
    page = opened(name, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=screenshots / f"{name.replace('/', '-')}-phone.png", full_page=True)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_show_what_their_cells_gave(name: str, opened: Any, screenshots: Path):
    page = opened(name, theme="dark")
    page.screenshot(path=screenshots / f"{name.replace('/', '-')}-dark.png", full_page=True)
    page = opened(name)
    page.screenshot(path=screenshots / f"{name.replace('/', '-')}-light.png", full_page=True)
    assert page.locator(".cell_output").count() > 5
    assert page.locator("img.tc-dark:visible").count() == 0
    assert page.locator(".cell_output .traceback, .cell_output .stderr").count() == 0
    broken = "[...document.querySelectorAll('.bd-content img')].filter(i => !i.naturalWidth).map(i => i.alt)"
    assert page.evaluate(broken) == []
    assert "$" not in page.locator(".bd-article p").first.inner_text()


def test_no_formula_is_cut_above_or_below(opened: Any):
    """Letters reach beyond the box of a formula: the transposed K once lost its bar."""
    page = opened(f"{RELEASE}/transformer/1_mha")
    formula = page.locator('mjx-container[display="true"]').first
    formula.scroll_into_view_if_needed()
    box = formula.bounding_box()
    around = {**box, "y": box["y"] - 10, "height": box["height"] + 20}
    shown = page.screenshot(clip=around)
    formula.evaluate("formula => formula.style.overflow = 'visible'")
    assert page.screenshot(clip=around) == shown


def test_a_list_of_folders_has_no_keywords(opened: Any):
    assert opened("docs/architecture").locator("pre :is(.k, .kn, .ow, .s1)").count() == 0


def test_names_in_tables_stay_in_one_piece(opened: Any):
    page = opened(f"{RELEASE}/transformer/3_encoder")
    heights = "names => names.map(name => name.getClientRects().length)"
    assert set(page.locator(".bd-article table code .pre").evaluate_all(heights)) == {1}


def test_the_search_finds_without_a_network(browser: Any, site: Path):
    """Of a file on the disk the browser shows the pages that were found, of a web server their words as well."""
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        for start in (site.as_uri(), f"http://127.0.0.1:{server.server_port}"):
            page = browser.new_page()
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(f"{start}/search.html?q=causal+mask")
            page.locator("#search-results li").first.wait_for()
            page.locator("#search-results li").get_by_role("link", name="Multi-head attention").first.wait_for()
            assert [url for url in asked if not url.startswith(start)] == []
            if start.startswith("http"):
                page.locator("#search-results .context", has_text="causal").first.wait_for()
            page.close()
        server.shutdown()


def test_the_live_view_moves_by_keyboard(opened: Any):
    page = opened(f"{RELEASE}/transformer/5_inference")
    live = page.locator(".tc-live[data-live]").first
    step = live.get_by_role("slider", name="step")
    before = live.inner_text()
    step.focus()
    page.keyboard.press("ArrowLeft")
    assert live.inner_text() != before
    assert "Run this cell to try" not in page.locator(".bd-article").inner_text()  # the box needs a kernel


def test_the_keyboard_reaches_content_and_theme(opened: Any):
    page = opened("index")
    page.keyboard.press("Tab")
    assert "Skip to main content" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    themes = set()
    for choice in range(1, 4):  # of a menu: as the system has it, light, dark
        page.locator("button.theme-switch-button:visible").first.focus()
        page.keyboard.press("Enter")
        page.locator(".dropdown-menu.show").first.wait_for()
        page.wait_for_timeout(100)  # the focus comes back
        for _ in range(choice):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        themes.add(page.evaluate("document.documentElement.dataset.theme"))
    assert themes == {"light", "dark"}


def test_the_handouts_can_be_downloaded(opened: Any):
    page = opened("index")
    for one in every_assignment():
        with page.expect_download() as started:
            page.get_by_role("link", name=f"{one.name}-student.zip").click()
        assert started.value.suggested_filename == f"{one.name}-student.zip"
