"""The site: links, leaks and requests are found; widgets become still; no link leads to what the site does not have."""

from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

import course
from autograder.authoring.packing.handout import contents
from autograder.authoring.release import secret_lines
from autograder.authoring.site.check_pages import broken_links, external_links, solution_lines
from autograder.authoring.site.run_notebooks import (
    WIDGET,
    digest_of,
    digest_of_files,
    readable,
    still_widget,
    with_outputs,
    without_solution,
)
from autograder.authoring.site.write_sources import (
    assignment_page,
    library_page,
    link_to_pages,
    modules_page,
    only_links_to,
)
from autograder.manifest import assignment, every_assignment


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text('<h1 id="top">x</h1><a href="a/b.html#here">b</a><a href="#top">up</a>')
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.html").write_text(
        '<p id="here">x</p><a href="../index.html">i</a><a href="https://x.org/">o</a>'
    )
    return tmp_path


def test_a_site_whose_links_lead_somewhere(site: Path):
    assert list(broken_links(site)) == []
    assert external_links(site) == ["https://x.org/"]


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<a href="c.html">c</a>', "new.html links to c.html, which does not exist"),
        ('<a href="a/b.html#there">b</a>', "new.html links to a/b.html#there, but that page has no such anchor"),
        ('<img src="p.png">', "new.html links to p.png, which does not exist"),
        ('<script src="https://cdn.x.org/y.js"></script>', "new.html would load https://cdn.x.org/y.js"),
        ('<link rel="stylesheet" href="//fonts.x.org/z.css">', "new.html would load //fonts.x.org/z.css"),
    ],
)
def test_what_leads_nowhere_or_outside_is_found(html: str, said: str, site: Path):
    (site / "new.html").write_text(html)
    assert list(broken_links(site)) == [said]


@pytest.mark.parametrize("name", ["page.html", "searchindex.js"])
def test_a_line_of_the_solution_is_found_through_its_colours(name: str, tmp_path: Path):
    source = (assignment("transformer").solution / "mha.py").read_text(encoding="utf-8")
    line = next(line.strip() for line in source.splitlines() if "W_q(" in line)
    (tmp_path / name).write_text(f"<pre>{line.replace('(', '<b>(</b>')}</pre>")
    found = list(solution_lines(tmp_path, [assignment("transformer")]))
    assert f"{name} contains a line of the solution: {line}" in found


def test_links_to_what_is_not_there_are_plain_words():
    there = {"docs/a.md", "notebooks/x/index.md", "img/p.svg"}
    text = (
        "[a](a.md#part) [c](../CONTRIBUTING.md) [x](../notebooks/x) ![p](../img/p.svg) [web](https://x.org) [top](#t)"
    )
    assert only_links_to(there, "docs/b.md", text) == (
        "[a](a.md#part) c [x](../notebooks/x/index.md) ![p](../img/p.svg) [web](https://x.org) [top](#t)"
    )


def test_an_output_links_to_the_page_of_the_next_notebook():
    text = '<a href="2_pe.ipynb">2_pe.ipynb</a> <a href="https://x.org/y.ipynb">web</a>'
    output = nbformat.v4.new_output("display_data", data={"text/html": text, "text/plain": "2_pe.ipynb"})
    link_to_pages(output)
    assert output["data"]["text/html"] == text.replace('"2_pe.ipynb"', '"2_pe.html"')
    assert output["data"]["text/plain"] == "2_pe.ipynb"
    link_to_pages({"output_type": "stream"})


def test_a_widget_becomes_what_it_shows():
    states = {
        "1": {"state": {"children": ["IPY_MODEL_2", "IPY_MODEL_3"]}},
        "2": {"state": {"_model_name": "FloatSliderModel", "description": "temperature", "value": 0.7}},
        "3": {"state": {"_model_name": "HTMLModel", "value": "<p>text</p>"}},
        "4": {"state": {"_model_name": "TextModel", "description": "sentence", "value": "Der Hund"}},
    }
    widgets = {"application/vnd.jupyter.widget-state+json": {"state": states}}
    notebook = SimpleNamespace(metadata={"widgets": widgets})
    sliders, box = (nbformat.v4.new_output("display_data", data={WIDGET: {"model_id": one}}) for one in "14")
    assert still_widget(sliders, notebook)
    assert sliders["data"]["text/html"].startswith("<p>temperature: 0.7</p><p>text</p>")
    assert WIDGET not in sliders["data"]
    assert not still_widget(box, notebook)
    assert still_widget({"output_type": "stream"}, notebook)


def test_a_cell_that_shows_the_module_does_not_show_the_solution():
    one = assignment("transformer")
    secrets = secret_lines(one.solution, one)
    source = (one.solution / "pe.py").read_text(encoding="utf-8")
    printed = nbformat.v4.new_output("stream", name="stdout", text=source)
    result = nbformat.v4.new_output("execute_result", data={"text/plain": source})
    honest = nbformat.v4.new_output("stream", name="stdout", text="0.5\n")
    assert without_solution(honest, secrets) is honest
    for output in (printed, result):
        assert without_solution(output, secrets).text == "(Not shown here: this output quotes the solution.)\n"


def test_the_reference_has_all_that_students_import_and_write():
    page = library_page()
    assert all(f":: course.{name}\n" in page for name in course.__all__)
    for one in every_assignment():
        assert all(f"automodule:: {module}\n" in modules_page(one) for module in one.modules)
        assert all(f"]({name})" in assignment_page(one) for name in one.notebooks)


def test_outputs_are_kept_until_something_changes(monkeypatch: pytest.MonkeyPatch):
    one = assignment("transformer")
    before = digest_of_files(one)
    assert digest_of_files(one) == before

    def changed(new):
        return lambda chosen: contents(chosen) | new

    monkeypatch.setattr("autograder.authoring.site.run_notebooks.contents", changed({"course/new.py": b""}))
    assert digest_of_files(one) != before
    texts = {"docs/new.md": b"", "notebooks/transformer/2_pe.ipynb": b""}
    monkeypatch.setattr("autograder.authoring.site.run_notebooks.contents", changed(texts))
    assert digest_of_files(one) == before


def test_a_changed_text_needs_no_new_run_and_changed_code_does(tmp_path: Path):
    notebook = nbformat.read(assignment("transformer").released / "2_pe.ipynb", as_version=4)
    nbformat.write(notebook, tmp_path / "a.ipynb")
    before = digest_of("files", tmp_path / "a.ipynb")
    for kind, same in (("markdown", True), ("code", False)):
        next(cell for cell in notebook.cells if cell.cell_type == kind).source += "\nnew"
        nbformat.write(notebook, tmp_path / "a.ipynb")
        assert (digest_of("files", tmp_path / "a.ipynb") == before) is same
    assert digest_of("other files", tmp_path / "a.ipynb") != before


def test_outputs_of_an_earlier_run_stand_below_todays_text():
    cells = [nbformat.v4.new_markdown_cell("old", id="text"), nbformat.v4.new_code_cell("1 + 1", id="sum")]
    run = nbformat.v4.new_notebook(cells=cells)
    cells[1].outputs = [nbformat.v4.new_output("execute_result", data={"text/plain": "2"})]
    today = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("new", id="text"),
            nbformat.v4.new_markdown_cell("more", id="more"),
            nbformat.v4.new_code_cell("1 + 1", id="sum"),
        ]
    )
    shown = with_outputs(today, run)
    assert [cell.source for cell in shown.cells] == ["new", "more", "1 + 1"]
    assert shown.cells[2].outputs[0]["data"] == {"text/plain": "2"}


def test_printed_pieces_stay_in_their_order_and_empty_boxes_go():
    def stream(text: str):
        return nbformat.v4.new_output("stream", name="stdout", text=text)

    def shown(html: str):
        return nbformat.v4.new_output("display_data", data={"text/html": html})

    outputs = [
        stream("one\n\n"),
        stream("two\n"),
        shown('<pre style="x"></pre>\n'),
        shown("<p>a</p>"),
        stream("three\n"),
    ]
    assert [output.get("text") or output.data["text/html"] for output in readable(outputs)] == [
        "one\n\ntwo\n",
        "<p>a</p>",
        "three\n",
    ]
