"""The live view in a browser: without a network, by keyboard, light, dark, narrow, exported, and without scripts."""

import re
from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SENTENCE = "Mein Bruder hat heute Morgen den Hund gefüttert."
LOCAL = ("file:", "data:")
LIGHT, DARK = "background: #fff; color: #111", "background: #111; color: #ddd; color-scheme: dark"


@pytest.fixture(scope="module")
def view():
    from course import explore_model, trained

    return explore_model(trained(), SENTENCE)


@pytest.fixture
def opened(browser, tmp_path):
    """Open HTML as a file; a request for anything else and an error of a script fail the test."""
    pages, wrong = [], []

    def open_page(html, width=1000, style=LIGHT, **options):
        file = tmp_path / "page.html"
        file.write_text(f'<!doctype html><meta charset="utf-8"><body style="{style}">{html}</body>', encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.extend([] if request.url.startswith(LOCAL) else [request.url]))
        page.goto(file.as_uri())
        pages.append(context)
        return page

    yield open_page
    for context in pages:
        context.close()
    assert wrong == []


def probability(words, piece):
    """What the table of scores says about a piece."""
    found = re.search(rf"{piece}\s+-?[\d.]+\s+([\d.]+)", words)
    assert found, words
    return float(found[1])


def test_every_control_works_by_keyboard(opened, view, screenshots):
    page = opened(view._repr_html_())
    live = page.locator(".tc-live")
    assert live.locator(".tc-still").count() == 0
    assert "(nothing yet)" not in live.inner_text()  # it opens in mid-sentence
    step = page.get_by_role("slider", name="step")
    step.focus()
    page.keyboard.press("End")
    assert "next: </s>" in live.inner_text()
    page.get_by_role("button", name="Next token").press("Enter")
    step.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    words = live.inner_text()
    assert "→ My brother fed the | next: ▁dog" in words
    assert probability(words, "▁dog") > 0.9
    page.get_by_role("slider", name="temperature").focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert probability(live.inner_text(), "▁dog") < 0.9
    page.get_by_role("button", name="Attention").press("Enter")
    page.get_by_label("kind").select_option(label="decoder self-attention")
    page.get_by_label("layer", exact=True).select_option("0")
    maps = page.locator(".tc-live svg")
    assert maps.count() == 4
    maps.nth(1).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    said = page.locator(".tc-live output").inner_text()
    assert re.fullmatch(r"layer 0, head 1: ▁My attends to ▁My with weight [01]\.\d{3}", said)
    page.keyboard.press("ArrowRight")
    assert page.locator(".tc-live output").inner_text().endswith("with weight 0.000, forbidden by the mask")
    page.get_by_label("head", exact=True).select_option("2")
    assert maps.count() == 1
    page.get_by_role("button", name="Residual stream").press("Enter")
    page.get_by_label("token", exact=True).select_option(label="2: ▁brother")
    live.screenshot(path=screenshots / "live-light.png")


@pytest.mark.parametrize(("name", "width", "style"), [("dark", 1000, DARK), ("narrow", 380, LIGHT)])
def test_nothing_is_cut_off(name, width, style, opened, view, screenshots):
    page = opened(view._repr_html_(), width, style)
    page.locator(".tc-live").screenshot(path=screenshots / f"live-{name}.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = page.evaluate(
        "[...document.querySelectorAll('.tc-live svg text, .tc-live select, .tc-live td')].map("
        "e => getComputedStyle(e)[e.tagName === 'text' ? 'fill' : 'color'])"
    )
    assert set(colours) == {page.evaluate("getComputedStyle(document.body).color")}


def test_two_views_on_a_page_do_not_disturb_each_other(opened, view):
    page = opened(view._repr_html_() + view._repr_html_())
    page.get_by_role("slider", name="step").first.focus()
    page.keyboard.press("Home")
    first, second = page.locator(".tc-live").all_inner_texts()
    assert "(nothing yet) | next: ▁My" in first
    assert "(nothing yet)" not in second


def test_without_scripts_the_still_picture_stays(opened, view, screenshots):
    page = opened(view._repr_html_(), java_script_enabled=False)
    assert page.locator(".tc-still img:visible").count() == 1  # of two, one for light and one for dark pages
    assert "My brother fed the dog this morning." in page.locator(".tc-live").inner_text()
    page.locator(".tc-live").screenshot(path=screenshots / "live-still.png")


def test_an_exported_notebook_shows_it(opened, view, screenshots, tmp_path):
    from nbconvert import HTMLExporter

    output = nbformat.v4.new_output("display_data", {"text/html": view._repr_html_(), "text/plain": repr(view)})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("explore_model(...)", outputs=[output])])
    html, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    page = opened(html)
    assert page.locator(".tc-live svg").count() == 4
    page.locator(".tc-live").screenshot(path=screenshots / "live-exported.png")
    assert Path(tmp_path, "page.html").stat().st_size < 1_500_000
